/**
 * Makes gateway calls visible: a span and a measurement per operation, and a debug log of every
 * HTTP exchange.
 */

import type { Span } from "@opentelemetry/api";
import { inSpan } from "../../db/connection/span.ts";
import type { Log } from "../telemetry/log.ts";
import { recordGatewayCall } from "../telemetry/telemetry.ts";
import { GatewayError } from "./errors.ts";
import type { GatewayResponse } from "./responses.ts";
import type { Exchange } from "./transport.ts";

type Operation = (...args: never[]) => Promise<GatewayResponse<unknown>>;

/**
 * Wraps each operation in a span such as `gateway charge`. Spans hold the outcome but no payload.
 */
export function withSpans<T extends Record<string, Operation>>(operations: T): T {
  const entries = Object.entries(operations).map(([name, operation]) => [
    name,
    (...args: Parameters<Operation>) =>
      inSpan(`gateway ${name}`, {}, (span) => recordOutcome(name, span, operation(...args))),
  ]);
  return Object.fromEntries(entries) as T;
}

async function recordOutcome<T>(
  operation: string,
  span: Span,
  call: Promise<GatewayResponse<T>>,
): Promise<GatewayResponse<T>> {
  const startedAt = performance.now();
  let result = "ok";
  try {
    const response = await call;
    span.setAttribute("gateway.status_code", response.statusCode);
    return response;
  } catch (error) {
    result = "error";
    if (error instanceof GatewayError) {
      if (error.failure !== "answered") result = error.failure;
      span.setAttribute("gateway.failure", error.failure);
      span.setAttribute("gateway.outcome", error.outcome);
      if (error.statusCode !== null) span.setAttribute("gateway.status_code", error.statusCode);
    }
    throw error;
  } finally {
    recordGatewayCall(performance.now() - startedAt, { operation, result });
  }
}

/** For the setting LOG_GATEWAY; exchanges arrive with their secrets masked. */
export function logExchanges(log: Log): (exchange: Exchange) => void {
  return (exchange) =>
    log.info("gateway_exchange", {
      method: exchange.method,
      url: exchange.url,
      request_headers: exchange.requestHeaders,
      request_text: exchange.requestText,
      status: exchange.status,
      response_text: exchange.responseText,
      failure: exchange.failure,
      duration_ms: exchange.durationMs,
      attempt: exchange.attempt,
    });
}
