/** Makes each operation of the gateway's visible as a span that tells how it ended, and no more. */

import type { Span } from "@opentelemetry/api";
import { inSpan } from "../../db/span.ts";
import type { Answer } from "./answers.ts";
import { GatewayError } from "./errors.ts";

type Operation = (...args: never[]) => Promise<Answer<unknown>>;

/** The same operations, each under its name: `gateway charge`. */
export function withSpans<T extends Record<string, Operation>>(operations: T): T {
  const entries = Object.entries(operations).map(([name, operation]) => [
    name,
    (...args: Parameters<Operation>) =>
      inSpan(`gateway ${name}`, {}, (span) => tellEnd(span, operation(...args))),
  ]);
  return Object.fromEntries(entries) as T;
}

async function tellEnd<T>(span: Span, asked: Promise<Answer<T>>): Promise<Answer<T>> {
  try {
    const answer = await asked;
    span.setAttribute("gateway.status_code", answer.statusCode);
    return answer;
  } catch (error) {
    if (error instanceof GatewayError) {
      span.setAttribute("gateway.failure", error.failure);
      span.setAttribute("gateway.outcome", error.outcome);
      if (error.statusCode !== null) span.setAttribute("gateway.status_code", error.statusCode);
    }
    throw error;
  }
}
