/** Errors of calls: the service returned an error, or there was no response from the service. */

import type { Problem } from "#api/types";
import { retryAfterMs } from "./retry.ts";
import { mediaType } from "./validate.ts";

/** Stable, machine-readable error code. */
export type ErrorCode = Problem["code"];

/** The service returned an error. */
export class PaymentGatewayError extends Error {
  override readonly name: string = "PaymentGatewayError";
  readonly code: ErrorCode;
  readonly status: number;
  /** The response body; `problem.errors` has the invalid fields. */
  readonly problem: Problem;
  /** Include it when you contact support. */
  readonly requestId: string;
  /** The key of the request. If you repeat the call, use this key, to avoid a second effect. */
  readonly idempotencyKey: string | null;
  /** The pause before a retry, if the service asks for one. */
  readonly retryAfterSeconds: number | null;

  constructor(
    problem: Problem,
    idempotencyKey: string | null = null,
    retryAfterSeconds: number | null = null,
  ) {
    super(`${problem.code}: ${problem.detail ?? problem.title}`);
    this.code = problem.code;
    this.status = problem.status;
    this.problem = problem;
    this.requestId = problem.instance;
    this.idempotencyKey = idempotencyKey;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * There was no response, or one that is not from the service, such as a proxy's error page. The
 * outcome of the call is unknown: repeat it with the same `idempotencyKey`.
 */
export class ConnectionError extends Error {
  override readonly name: string = "ConnectionError";
  /** Status of the response, if there was one. */
  readonly status: number | null;
  /** The id in the response, or the `requestId` of the call; null if there is neither. */
  readonly requestId: string | null;
  readonly idempotencyKey: string | null;
  /** The pause before a retry, if the response asks for one. */
  readonly retryAfterSeconds: number | null;

  constructor(
    message: string,
    { status = null, requestId = null, idempotencyKey = null, retryAfterSeconds = null, cause }: {
      status?: number | null;
      requestId?: string | null;
      idempotencyKey?: string | null;
      retryAfterSeconds?: number | null;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause });
    this.status = status;
    this.requestId = requestId;
    this.idempotencyKey = idempotencyKey;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Converts an error of the generated client. After an abort, returns the reason of the signal. */
export function toCallError(error: unknown, response?: Response, request?: Request): unknown {
  // No request was built: the caller made a mistake, such as an invalid base URL.
  if (!request) return error;
  if (request.signal.aborted) return request.signal.reason;
  const idempotencyKey = request.headers.get("Idempotency-Key");
  const waitMs = retryAfterMs(response);
  const retryAfterSeconds = waitMs === null ? null : Math.ceil(waitMs / 1000);
  if (isProblem(error, response)) {
    return new PaymentGatewayError(error, idempotencyKey, retryAfterSeconds);
  }
  const reason = error instanceof Error ? error.message : "the response is not from the service";
  const status = response?.status ?? null;
  const message = `${request.method} ${request.url}: ${status ?? "no response"} (${reason})`;
  const requestId = response?.headers.get("X-Request-Id") ?? request.headers.get("X-Request-Id");
  return new ConnectionError(message, {
    status,
    requestId,
    idempotencyKey,
    retryAfterSeconds,
    cause: error,
  });
}

/** Checks all members, because a proxy may send errors with its own `code`. */
function isProblem(body: unknown, response?: Response): body is Problem {
  if (mediaType(response) !== "application/problem+json") return false;
  if (typeof body !== "object" || body === null) return false;
  const { status, code, title, instance } = body as Record<string, unknown>;
  return typeof status === "number" &&
    [code, title, instance].every((member) => typeof member === "string");
}
