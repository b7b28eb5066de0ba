/** The error answers of a route, by code, for the document. */

import { ERROR_CODES, type ErrorCode } from "../../core/errors.ts";
import { exampleRef, headerRef } from "../../openapi/components.ts";
import { REPLAY_HEADER } from "./idempotency.ts";
import { ProblemSchema } from "./problem.ts";

type Headers = Record<string, { $ref: string }>;

const RETRY_AFTER: Headers = { "Retry-After": headerRef("RetryAfter") };

/** Of errors that share their status with others, which bear no such header. */
const MAY_RETRY_AFTER: Headers = { "Retry-After": headerRef("MayRetryAfter") };

const HEADERS: Partial<Record<ErrorCode, Headers>> = {
  unauthenticated: { "WWW-Authenticate": headerRef("Authenticate") },
  rate_limited: {
    ...RETRY_AFTER,
    "RateLimit": headerRef("RateLimit"),
    "RateLimit-Policy": headerRef("RateLimitPolicy"),
  },
  invalid_state: MAY_RETRY_AFTER,
  gateway_rate_limited: MAY_RETRY_AFTER,
  idempotency_in_progress: RETRY_AFTER,
  unavailable: RETRY_AFTER,
};

/** Of errors that are final. */
const REPLAYED_STATUSES: number[] = [400, 404];

interface ProblemAnswer {
  description: string;
  headers: Headers;
  content: {
    "application/problem+json": {
      schema: typeof ProblemSchema;
      examples: Record<string, { $ref: string }>;
    };
  };
}

type StatusOf<Code extends ErrorCode> = (typeof ERROR_CODES)[Code]["status"];

/** `...problems("unauthenticated", "not_found")`; what nobody foresaw can happen everywhere. */
export function problems<Code extends ErrorCode>(...codes: Code[]) {
  const byStatus = Map.groupBy(
    new Set<ErrorCode>([...codes, "internal_error"]),
    (code) => ERROR_CODES[code].status,
  );
  // Of what is asked for once an error, too, is given again.
  const replay = byStatus.has(ERROR_CODES.idempotency_key_reused.status) ? REPLAY_HEADER : {};
  const answers = [...byStatus].map(([status, codes]) => [
    status,
    answer(codes, REPLAYED_STATUSES.includes(status) ? replay : {}),
  ]);
  return Object.fromEntries(answers) as Record<StatusOf<Code | "internal_error">, ProblemAnswer>;
}

function answer(codes: ErrorCode[], headers: Headers): ProblemAnswer {
  const lines = codes.map((code) => `- \`${code}\`: ${ERROR_CODES[code].title}`);
  return {
    description: lines.join("\n"),
    headers: Object.assign({}, headers, ...codes.map((code) => HEADERS[code])),
    content: {
      "application/problem+json": {
        schema: ProblemSchema,
        examples: Object.fromEntries(codes.map((code) => [code, exampleRef(code)])),
      },
    },
  };
}
