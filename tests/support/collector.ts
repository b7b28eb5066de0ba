/** A telemetry collector that receives OTLP as JSON. */

import { isDeepStrictEqual } from "node:util";

export interface Span {
  /** The instrumentation scope; `deno` for spans of Deno. */
  scope: string;
  name: string;
  spanId: string;
  parentSpanId: string;
  hasFailed: boolean;
  attributes: Record<string, unknown>;
}

export interface Collector extends AsyncDisposable {
  /** Environment variables for a process that exports to this collector. */
  settings: Record<string, string>;
  /** The finished spans of a trace, ordered by their start. */
  spansOf(traceId: string): Span[];
  /** The number of values in a histogram with these attributes. */
  countOf(metric: string, attributes: Record<string, unknown>): number;
  /** The last value of a gauge with these attributes; undefined if there is none. */
  valueOf(metric: string, attributes: Record<string, unknown>): number | undefined;
  /** The names of the services that exported spans or metrics. */
  services(): string[];
  /** The raw text of all requests. */
  text(): string;
}

interface Exported {
  resourceSpans?: (Resource & {
    scopeSpans: { scope: { name: string }; spans: ExportedSpan[] }[];
  })[];
  resourceMetrics?: (Resource & { scopeMetrics: { metrics: ExportedMetric[] }[] })[];
}

interface Resource {
  resource: { attributes: ExportedAttribute[] };
}

interface ExportedSpan extends Pick<Span, "name" | "spanId" | "parentSpanId"> {
  traceId: string;
  startTimeUnixNano: string;
  status: { code: number };
  attributes: ExportedAttribute[];
}

interface ExportedMetric {
  name: string;
  histogram?: { dataPoints: { count: string; attributes: ExportedAttribute[] }[] };
  gauge?: { dataPoints: { asDouble: number; attributes: ExportedAttribute[] }[] };
}

interface ExportedAttribute {
  key: string;
  value: Record<string, unknown>;
}

/** The code of a failed span's status. */
const ERROR = 2;

export function openCollector(): Collector {
  const texts: string[] = [];
  const exported: Exported[] = [];
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const server = Deno.serve(options, async (request) => {
    const text = await request.text();
    texts.push(text);
    exported.push(JSON.parse(text));
    return Response.json({});
  });
  const metricsOf = (metric: string) =>
    exported
      .flatMap(({ resourceMetrics = [] }) => resourceMetrics)
      .flatMap(({ scopeMetrics }) => scopeMetrics)
      .flatMap(({ metrics }) => metrics)
      .filter(({ name }) => name === metric);

  return {
    settings: {
      OTEL_DENO: "true",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${server.addr.port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "50",
      OTEL_METRIC_EXPORT_INTERVAL: "50",
    },
    spansOf: (traceId) =>
      exported
        .flatMap(({ resourceSpans = [] }) => resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans)
        .flatMap(({ scope, spans }) => spans.map((span) => ({ ...span, scope: scope.name })))
        .filter((span) => span.traceId === traceId)
        .toSorted((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)))
        .map(({ scope, name, spanId, parentSpanId, status, attributes }) => ({
          ...{ scope, name, spanId, parentSpanId },
          hasFailed: status.code === ERROR,
          attributes: read(attributes),
        })),
    countOf(metric, attributes) {
      const counts = metricsOf(metric)
        .flatMap(({ histogram }) => histogram?.dataPoints ?? [])
        .filter((point) => isDeepStrictEqual(read(point.attributes), attributes))
        .map(({ count }) => Number(count));
      // Exports are cumulative.
      return Math.max(0, ...counts);
    },
    valueOf: (metric, attributes) =>
      metricsOf(metric)
        .flatMap(({ gauge }) => gauge?.dataPoints ?? [])
        .findLast((point) => isDeepStrictEqual(read(point.attributes), attributes))?.asDouble,
    services: () =>
      exported.flatMap(({ resourceSpans = [], resourceMetrics = [] }): Resource[] => [
        ...resourceSpans,
        ...resourceMetrics,
      ])
        .map(({ resource }) => String(read(resource.attributes)["service.name"])),
    text: () => texts.join("\n"),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function read(attributes: ExportedAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
