/** Documents the error responses of operations, by error code. */

import { ERROR_CODES, type ErrorCode } from "../../core/errors.ts";
import { EXAMPLE_REQUEST_ID, exampleRef, headerRef } from "../../openapi/components.ts";
import { PROBLEM_MEMBERS, ProblemSchema } from "./schema.ts";
import { REPLAY_HEADER } from "../idempotency.ts";
import type { Router } from "../router.ts";

/** Errors of every operation that requires authentication. */
export const COMMON_ERRORS = [
  // For query parameters that the operation does not have.
  "validation_error",
  "unauthenticated",
  "rate_limited",
  "unavailable",
] as const satisfies ErrorCode[];

/**
 * Errors of every operation that viewers must not use: it changes something or calls the gateway.
 */
export const CHANGE_ERRORS = [...COMMON_ERRORS, "forbidden"] as const satisfies ErrorCode[];

/** Errors of operations that ignore a body: it is still limited. */
export const EMPTY_BODY_ERRORS = [
  "payload_too_large",
  "unsupported_media_type",
] as const satisfies ErrorCode[];

/** Errors of operations with a body. */
export const BODY_ERRORS = [
  "malformed_json",
  ...EMPTY_BODY_ERRORS,
] as const satisfies ErrorCode[];

/** Errors of operations with an optional `Idempotency-Key`. */
export const KEY_ERRORS = [
  "idempotency_in_progress",
  "idempotency_key_reused",
] as const satisfies ErrorCode[];

/** Errors of operations with a body and an optional `Idempotency-Key`. */
export const KEYED_BODY_ERRORS = [...BODY_ERRORS, ...KEY_ERRORS] as const satisfies ErrorCode[];

/** Errors of operations that call the gateway. */
export const GATEWAY_ERRORS = [
  "gateway_error",
  "gateway_validation",
  "gateway_authentication",
  "gateway_rate_limited",
  "gateway_unreachable",
  "gateway_timeout",
] as const satisfies ErrorCode[];

/** Errors of every action on an existing payment, invoice or subscription. */
export const ACTION_ERRORS = [
  "not_found",
  "invalid_state",
  ...KEYED_BODY_ERRORS,
  ...GATEWAY_ERRORS,
  ...CHANGE_ERRORS,
] as const satisfies ErrorCode[];

type Headers = Record<string, { $ref: string }>;

const RETRY_AFTER: Headers = { "Retry-After": headerRef("RetryAfter") };

/** Documented as optional: other codes with the same status do not send the header. */
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

/** Statuses of final errors, which are stored and replayed for an `Idempotency-Key`. */
const REPLAYED_STATUSES: number[] = [400, 404];

interface ProblemResponse {
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

/**
 * Use: `...problems("unauthenticated", "not_found")`. Adds `internal_error`, which is always
 * possible.
 */
export function problems<Code extends ErrorCode>(...codes: Code[]) {
  const byStatus = Map.groupBy(
    new Set<ErrorCode>([...codes, "internal_error"]),
    (code) => ERROR_CODES[code].status,
  );
  const hasIdempotencyKey = byStatus.has(ERROR_CODES.idempotency_key_reused.status);
  const responses = [...byStatus].map(([status, codes]) => [
    status,
    describeResponse(
      codes,
      hasIdempotencyKey && REPLAYED_STATUSES.includes(status) ? REPLAY_HEADER : {},
    ),
  ]);
  return Object.fromEntries(responses) as Record<
    StatusOf<Code | "internal_error">,
    ProblemResponse
  >;
}

function describeResponse(codes: ErrorCode[], headers: Headers): ProblemResponse {
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

/** Adds one example per error code to the document's components, which `problems` refers to. */
export function registerProblemExamples({ openAPIRegistry }: Router): void {
  for (const [code, { title, status }] of Object.entries(ERROR_CODES)) {
    // No documented operation returns it: the service sends it if a path does not have the method.
    if (code === "method_not_allowed") continue;
    openAPIRegistry.registerComponent("examples", code, {
      summary: title,
      value: {
        type: `urn:payment-gateway:problem:${code}`,
        title,
        status,
        detail: null,
        instance: EXAMPLE_REQUEST_ID,
        code,
        ...PROBLEM_MEMBERS[code as ErrorCode],
      },
    });
  }
}
