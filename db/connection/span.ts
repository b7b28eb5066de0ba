/** Records work as a telemetry span; without a collector this costs almost nothing. */

import {
  type Attributes,
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";

const tracer = trace.getTracer("payment-gateway");

/**
 * The span ends with `work`, which may add attributes. Spans that `work` starts are its children.
 */
export function inSpan<T>(
  name: string,
  attributes: Attributes,
  work: (span: Span) => Promise<T>,
  kind = SpanKind.CLIENT,
): Promise<T> {
  const span = tracer.startSpan(name, { kind, attributes });
  return span.isRecording() ? runRecorded(span, work) : work(span);
}

function runRecorded<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  return context.with(trace.setSpan(context.active(), span), async () => {
    try {
      return await work(span);
    } catch (error) {
      span.setAttribute("error.type", typeOf(error));
      // Without the error's message, which may quote secrets.
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The driver does not record spans itself. */
export function inDatabaseSpan<T>(name: string, work: () => Promise<T>): Promise<T> {
  return inSpan(`db ${name}`, { "db.system.name": "postgresql" }, work);
}

/** The error's code (an SQLSTATE, a service error code), or else its class. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return "code" in error ? String(error.code) : error.name;
}
