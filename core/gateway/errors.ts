/** What goes wrong with the gateway: one kind of error for each thing a caller may do about it. */

/** Whether anything came of the call: nothing did, or nobody knows. */
export type Outcome = "refused" | "unknown";

/** How the call ended: with an answer, or why without one. */
export type Failure = "answered" | "unreachable" | "timeout" | "aborted";

export interface GatewayErrorDetails {
  failure: Failure;
  outcome: Outcome;
  /** The gateway's code, of the body or else of HTTP; null without an answer. */
  statusCode?: string | null;
  /** The answer's body where it was readable. */
  data?: Record<string, unknown> | null;
  validationMessages?: string[];
  /** How long the gateway asked to be left alone. */
  retryAfterSeconds?: number | null;
  cause?: Error;
}

/** Everything in it is fit for a log: whoever makes one has masked the secrets. */
export class GatewayError extends Error {
  override name = "GatewayError";
  readonly failure: Failure;
  readonly outcome: Outcome;
  readonly statusCode: string | null;
  readonly data: Record<string, unknown> | null;
  readonly validationMessages: string[];
  readonly retryAfterSeconds: number | null;

  constructor(message: string, details: GatewayErrorDetails) {
    super(message, details.cause && { cause: details.cause });
    this.failure = details.failure;
    this.outcome = details.outcome;
    this.statusCode = details.statusCode ?? null;
    this.data = details.data ?? null;
    this.validationMessages = details.validationMessages ?? [];
    this.retryAfterSeconds = details.retryAfterSeconds ?? null;
  }
}

/** Whether the gateway itself says that it knows no such thing; a page that says 404 is anybody's. */
export function meansUnknown(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.statusCode === "404" &&
    error.data?.status_code !== undefined;
}

/** As above, of invoices and subscriptions, whose answers have no code of their own. */
export function meansNoSuch(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.statusCode === "404" && error.data !== null &&
    ("error_messages" in error.data || "status_message" in error.data);
}

/** Whether the gateway did not hear of it, or did not want to: later it may do the very same. */
export function wasNotHeard(error: GatewayError): boolean {
  return error instanceof GatewayRateLimitError || error.failure !== "answered";
}

/** Whatever none of the others is, no answer at all among it. */
export class GatewayAPIError extends GatewayError {
  override name = "GatewayAPIError";
}

/** 401: the key is wrong, or of the other environment. */
export class GatewayAuthenticationError extends GatewayError {
  override name = "GatewayAuthenticationError";
}

/** 400: `validationMessages` say what is wrong with the request. */
export class GatewayValidationError extends GatewayError {
  override name = "GatewayValidationError";
}

/** 406: the order id, or the refund key, is taken. */
export class GatewayDuplicateOrderError extends GatewayError {
  override name = "GatewayDuplicateOrderError";
}

/** 429: `retryAfterSeconds` says for how long, where the gateway does. */
export class GatewayRateLimitError extends GatewayError {
  override name = "GatewayRateLimitError";
}

/** 403. */
export class GatewaySignatureError extends GatewayError {
  override name = "GatewaySignatureError";
}
