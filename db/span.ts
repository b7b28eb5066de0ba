/** Makes a piece of work visible as a span; while nobody collects telemetry it costs next to nothing. */

import {
  type Attributes,
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";

const tracer = trace.getTracer("payment-gateway");

/** The span ends with `work`, which may tell it more; whatever `work` asks for is its child. */
export function inSpan<T>(
  name: string,
  attributes: Attributes,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes });
  return span.isRecording() ? recording(span, work) : work(span);
}

function recording<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  return context.with(trace.setSpan(context.active(), span), async () => {
    try {
      return await work(span);
    } catch (error) {
      span.setAttribute("error.type", typeOf(error));
      // Without the error's words: they may quote what nobody may read.
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The driver makes no spans of its own. */
export function inDatabaseSpan<T>(name: string, work: () => Promise<T>): Promise<T> {
  return inSpan(`db ${name}`, { "db.system.name": "postgresql" }, work);
}

/** What its maker calls it (an SQLSTATE, an error code of ours), or else its class. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return "code" in error ? String(error.code) : error.name;
}
