/**
 * The instruments of the service's metrics. Each value is recorded once and goes to two places: to
 * OpenTelemetry, which Deno exports (`OTEL_DENO=true`), and to the registry that `GET /metrics`
 * shows. The names in the registry are those that Prometheus gives to the same metrics from
 * OpenTelemetry.
 */

import {
  type Attributes,
  type BatchObservableCallback,
  metrics,
  type ObservableGauge,
} from "@opentelemetry/api";
import type { Metric, MetricValueWithName, Registry } from "prom-client";
// The package's main module takes longer to load: it also has a push gateway, workers and the
// metrics of Node.
import OnlyRegistry from "prom-client/lib/registry.js";

const meter = metrics.getMeter("payment-gateway");
const registry: Registry = new OnlyRegistry();

const PREFIX = "payment_gateway.";

interface Info {
  description: string;
  /** Empty for a number without a unit. */
  unit?: "ms" | "s" | "By" | "";
}

type Labels = Record<string, string | number>;

interface Series {
  labels: Labels;
  value: number;
}

/**
 * A metric that the registry of prom-client can read. The classes of prom-client are slower: they
 * validate and hash the labels of every value, several times per request.
 */
abstract class RegisteredMetric<S extends Series> {
  readonly name: string;
  readonly #help: string;
  readonly #type: "counter" | "gauge" | "histogram";
  protected readonly series = new Map<string, S>();

  constructor(name: string, { description, unit }: Info, type: "counter" | "gauge" | "histogram") {
    this.name = prometheusName(name, unit ?? "", type);
    this.#help = description;
    this.#type = type;
    registry.registerMetric(this as unknown as Metric<string>);
  }

  protected find(labels: Labels): S {
    let key = "";
    for (const name in labels) key += `${labels[name]}\n`;
    let series = this.series.get(key);
    if (!series) this.series.set(key, series = this.start(labels));
    return series;
  }

  protected abstract start(labels: Labels): S;

  protected abstract values(): MetricValueWithName<string>[];

  /** Called by the registry. */
  get() {
    const [name, help, type] = [this.name, this.#help, this.#type];
    return Promise.resolve({ name, help, type, values: this.values(), aggregator: "sum" });
  }

  reset(): void {
    this.series.clear();
  }
}

const UNITS = { ms: "_milliseconds", s: "_seconds", By: "_bytes", "": "" };

function prometheusName(name: string, unit: keyof typeof UNITS, type: string): string {
  const suffix = UNITS[unit] + (type === "counter" ? "_total" : "");
  return (PREFIX + name).replaceAll(".", "_") + suffix;
}

class CurrentValues extends RegisteredMetric<Series> {
  add(value: number, labels: Labels): void {
    this.find(labels).value += value;
  }

  set(value: number, labels: Labels): void {
    this.find(labels).value = value;
  }

  protected start(labels: Labels): Series {
    return { labels, value: 0 };
  }

  protected values() {
    return [...this.series.values()].map((each) => ({ ...each, metricName: this.name }));
  }
}

interface Distribution extends Series {
  /** The number of values in each bucket; the last one has no upper bound. */
  counts: number[];
}

class Distributions extends RegisteredMetric<Distribution> {
  readonly #bounds: readonly number[];

  constructor(name: string, info: Info, bounds: readonly number[]) {
    super(name, info, "histogram");
    this.#bounds = bounds;
  }

  record(value: number, labels: Labels): void {
    const series = this.find(labels);
    let bucket = 0;
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++;
    series.counts[bucket]!++;
    series.value += value;
  }

  protected start(labels: Labels): Distribution {
    return { labels, value: 0, counts: Array(this.#bounds.length + 1).fill(0) };
  }

  protected values() {
    return [...this.series.values()].flatMap(({ labels, value: sum, counts }) => {
      let count = 0;
      const buckets = [...this.#bounds, "+Inf"].map((le, index) => {
        count += counts[index]!;
        return { labels: { ...labels, le }, value: count, metricName: `${this.name}_bucket` };
      });
      return [
        ...buckets,
        { labels, value: sum, metricName: `${this.name}_sum` },
        { labels, value: count, metricName: `${this.name}_count` },
      ];
    });
  }
}

/** Returns a function that adds 1 to the counter. */
export function createCounter(name: string, description: string): (attributes?: Labels) => void {
  const exported = meter.createCounter(PREFIX + name, { description });
  const shown = new CurrentValues(name, { description }, "counter");
  return (attributes = {}) => {
    exported.add(1, attributes);
    shown.add(1, attributes);
  };
}

/** Returns a function that records a value. */
export function createHistogram(
  name: string,
  { description, unit, bounds }: Info & { bounds: number[] },
): (value: number, attributes: Labels) => void {
  const exported = meter.createHistogram(PREFIX + name, {
    description,
    unit,
    advice: { explicitBucketBoundaries: bounds },
  });
  const shown = new Distributions(name, { description, unit }, bounds);
  return (value, attributes) => {
    exported.record(value, attributes);
    shown.record(value, attributes);
  };
}

export interface GaugeInstrument {
  exported: ObservableGauge;
  shown: CurrentValues;
}

export function createGauge(
  name: string,
  description: string,
  unit: Info["unit"] = "",
): GaugeInstrument {
  return {
    exported: meter.createObservableGauge(PREFIX + name, { description, unit }),
    shown: new CurrentValues(name, { description, unit }, "gauge"),
  };
}

export type Observed<Name extends string> = [gauge: Name, value: number, attributes: Attributes];

/** Calls `read` for each export of OpenTelemetry; never if metrics are not exported. */
export function exportGauges<Name extends string>(
  gauges: Record<Name, GaugeInstrument>,
  read: () => Promise<Observed<Name>[]>,
): Disposable {
  const instruments = Object.values<GaugeInstrument>(gauges).map(({ exported }) => exported);
  const callback: BatchObservableCallback = async (result) => {
    for (const [name, value, attributes] of await read()) {
      result.observe(gauges[name].exported, value, attributes);
    }
  };
  meter.addBatchObservableCallback(callback, instruments);
  return { [Symbol.dispose]: () => meter.removeBatchObservableCallback(callback, instruments) };
}

/** Replaces the values that the registry shows. */
export function showGauges<Name extends string>(
  gauges: Record<Name, GaugeInstrument>,
  observed: Observed<Name>[],
): void {
  for (const { shown } of Object.values<GaugeInstrument>(gauges)) shown.reset();
  for (const [name, value, attributes] of observed) {
    gauges[name].shown.set(value, attributes as Labels);
  }
}

/** All metrics in the text format of Prometheus. */
export async function renderRegistry(): Promise<string> {
  return await registry.metrics();
}
