/** Finds errors and ends of instances that no failure of the database or the gateway explains. */

import type { Json } from "../../tests/support/gateway/sandbox.ts";
import { errorEventOf } from "../log_lines.ts";
import type { Difference } from "./history.ts";
import type { OwnEnd } from "./instance.ts";

export interface ServiceFindings {
  onLine(line: string): void;
  onOwnEnd(end: OwnEnd): void;
  /** How often the service could not start because the database was down. */
  failedStarts: number;
  differences(): Difference[];
}

/** With any cause, these are errors of the service itself. */
const NEVER_EXPECTED = [
  "internal_error",
  "invariant_violated",
  "uncaught_error",
  "unhandled_rejection",
];

/** An instance that was paused finds that its connections did not respond in time. */
const EXPECTED_OF_PAUSES = ["instance_lock_lost"];

/** The names and codes of errors of the database: it is killed, starts, or changes its primary. */
const DATABASE_ERROR =
  /^(DatabaseUnavailable|CONNECTION_\w+|CONNECT_TIMEOUT|ECONNREFUSED|ECONNRESET|EPIPE|57P\d\d|25006)$/;

/** The gateway fails, or no request is sent to it because it has just failed. */
const GATEWAY_ERROR = /^(Gateway(API|RateLimit)Error|gateway_(unreachable|timeout|rate_limited))$/;

export function createServiceFindings(): ServiceFindings {
  /** By event, the errors that are not expected. */
  const unexpected = new Map<string, { count: number; first: string }>();
  const ends: Difference[] = [];
  const findings: ServiceFindings = {
    failedStarts: 0,
    onLine(line) {
      const event = errorEventOf(line);
      if (event === null || isExpected(event, line)) return;
      const known = unexpected.get(event);
      if (known) known.count++;
      else unexpected.set(event, { count: 1, first: line });
    },
    onOwnEnd({ code, wasReady, output }) {
      if (!wasReady && output.split("\n").some(isDatabaseError)) findings.failedStarts++;
      else {
        const when = wasReady ? "while it served requests" : "during its start";
        ends.push(
          difference("the service does not end by itself", `code ${code} ${when}: ${output}`),
        );
      }
    },
    differences: () => [
      ...ends,
      ...[...unexpected].map(([event, { count, first }]) =>
        difference("the service logs no unexpected error", `${event}, ${count} times: ${first}`)
      ),
    ],
  };
  return findings;
}

function isExpected(event: string, line: string): boolean {
  if (NEVER_EXPECTED.includes(event)) return false;
  if (EXPECTED_OF_PAUSES.includes(event)) return true;
  // It says how often the error of an earlier line was repeated, but not which error it was.
  if (/"repeated":\d+}$/.test(line)) return true;
  return isDatabaseError(line) || causesOf(line).some((name) => GATEWAY_ERROR.test(name));
}

function isDatabaseError(line: string): boolean {
  return errorEventOf(line) !== null && causesOf(line).some((name) => DATABASE_ERROR.test(name));
}

/** The names and the codes of the error in a line of the log, and of its causes. */
function causesOf(line: string): string[] {
  const found: string[] = [];
  for (let error: Json = errorIn(line); error; error = error.cause) {
    found.push(...[error.name, error.code].filter((each) => typeof each === "string"));
  }
  return found;
}

function errorIn(line: string): Json {
  try {
    return JSON.parse(line).error;
  } catch {
    return undefined;
  }
}

function difference(rule: string, text: string): Difference {
  return { rule, orderId: null, text };
}
