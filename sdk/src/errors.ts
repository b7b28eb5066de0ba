/** What calls throw: the service said no, or there was no answer of the service. */

import type { Problem } from "#api/types";
import { mediaType } from "./media_type.ts";
import { retryAfterMs } from "./retry_pauses.ts";

/** What went wrong, stable and meant for programs. */
export type ErrorCode = Problem["code"];

/** The service answered with a problem. */
export class PaymentGatewayError extends Error {
  override readonly name: string = "PaymentGatewayError";
  readonly code: ErrorCode;
  readonly status: number;
  /** The whole answer; `problem.errors` has the fields that are wrong. */
  readonly problem: Problem;
  /** Quote it when asking for help. */
  readonly requestId: string;
  /** The key that the request bore; the same call with it is never done twice. */
  readonly idempotencyKey: string | null;
  /** How long the service asks to wait before the next attempt. */
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
 * Nothing came back, or something that is not the service's (a proxy's error page, say). Whether
 * the call was done is not known: repeat it with the same `idempotencyKey`.
 */
export class ConnectionError extends Error {
  override readonly name: string = "ConnectionError";
  /** The status of an answer that is not the service's. */
  readonly status: number | null;
  readonly idempotencyKey: string | null;
  /** How long such an answer asks to wait before the next attempt. */
  readonly retryAfterSeconds: number | null;

  constructor(
    message: string,
    { status = null, idempotencyKey = null, retryAfterSeconds = null, cause }: {
      status?: number | null;
      idempotencyKey?: string | null;
      retryAfterSeconds?: number | null;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause });
    this.status = status;
    this.idempotencyKey = idempotencyKey;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Whatever the generated client came upon, as one of the two; what the caller aborted stays so. */
export function asThrown(error: unknown, response?: Response, request?: Request): unknown {
  // Before there is a request it is the caller who is mistaken, about the base URL for instance.
  if (!request) return error;
  if (request.signal.aborted) return request.signal.reason;
  const idempotencyKey = request.headers.get("Idempotency-Key");
  const waitMs = retryAfterMs(response);
  const retryAfterSeconds = waitMs === null ? null : Math.ceil(waitMs / 1000);
  if (isProblem(error, response)) {
    return new PaymentGatewayError(error, idempotencyKey, retryAfterSeconds);
  }
  const reason = error instanceof Error ? error.message : "not an answer of the service";
  const status = response?.status ?? null;
  const message = `${request.method} ${request.url}: ${status ?? "no answer"} (${reason})`;
  return new ConnectionError(message, { status, idempotencyKey, retryAfterSeconds, cause: error });
}

/** A proxy may have a `code` of its own. */
function isProblem(body: unknown, response?: Response): body is Problem {
  if (mediaType(response) !== "application/problem+json") return false;
  if (typeof body !== "object" || body === null) return false;
  const { status, code, title, instance } = body as Record<string, unknown>;
  return typeof status === "number" &&
    [code, title, instance].every((it) => typeof it === "string");
}
