/** Errors of the gateway client. Errors that callers handle differently have different classes. */

/** `refused`: the gateway did not execute the failed call; `unknown`: it may have executed it. */
export type GatewayOutcome = "refused" | "unknown";

/** How the call failed. `answered`: the gateway sent an error; all others: no response arrived. */
export type FailureType = "answered" | "unreachable" | "timeout" | "aborted";

export interface GatewayErrorDetails {
  failure: FailureType;
  outcome: GatewayOutcome;
  /** The gateway's code, from the body or else from HTTP; null without a response. */
  statusCode?: string | null;
  /** The response body, masked, if it was a JSON object. */
  data?: Record<string, unknown> | null;
  validationMessages?: string[];
  /** From the response's `Retry-After`; in the error of a call, the time for which it pauses. */
  retryAfterSeconds?: number | null;
  cause?: Error;
}

/** All of its content is safe to log: secrets must be masked before it is created. */
export class GatewayError extends Error {
  override name = "GatewayError";
  readonly failure: FailureType;
  readonly outcome: GatewayOutcome;
  readonly statusCode: string | null;
  readonly data: Record<string, unknown> | null;
  readonly validationMessages: string[];
  retryAfterSeconds: number | null;

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

/** Every error without a more specific class below, such as a call without a response. */
export class GatewayAPIError extends GatewayError {
  override name = "GatewayAPIError";
}

/** The gateway's response cannot be used, for example because it is about another transaction. */
export function unusableResponse(
  message: string,
  statusCode: string | null = null,
): GatewayAPIError {
  return new GatewayAPIError(message, { failure: "answered", outcome: "unknown", statusCode });
}

/** 401: the server key is wrong, or belongs to the other environment (production or sandbox). */
export class GatewayAuthenticationError extends GatewayError {
  override name = "GatewayAuthenticationError";
}

/** 400: `validationMessages` say what is wrong with the request. */
export class GatewayValidationError extends GatewayError {
  override name = "GatewayValidationError";
}

/** 406: the order id or the refund key is already in use. */
export class GatewayDuplicateOrderError extends GatewayError {
  override name = "GatewayDuplicateOrderError";
}

/** 429: `retryAfterSeconds` has the time to wait. */
export class GatewayRateLimitError extends GatewayError {
  override name = "GatewayRateLimitError";
}

/** 403: the request is forbidden. A proxy or firewall can send this, too. */
export class GatewaySignatureError extends GatewayError {
  override name = "GatewaySignatureError";
}

/** The gateway reports a transaction in a status that the service does not know. */
export class UnrecognizedStatusError extends GatewayError {
  override name = "UnrecognizedStatusError";
}

/**
 * The gateway does not know the transaction. A 404 without the gateway's `status_code` in its body
 * does not count: it can come from a proxy.
 */
export function isTransactionNotFound(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.statusCode === "404" &&
    error.data?.status_code !== undefined;
}

/**
 * The gateway does not know the invoice or subscription. The body of this 404 has no `status_code`.
 */
export function isResourceNotFound(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.statusCode === "404" && error.data !== null &&
    ("error_messages" in error.data || "status_message" in error.data);
}

/**
 * The gateway did not say in which state the transaction is. It did not respond, or it responded
 * with an error other than "not found", or with a status that the service does not know.
 */
export function leavesStateUnknown(error: unknown): error is GatewayError {
  if (error instanceof UnrecognizedStatusError) return true;
  return error instanceof GatewayError && !error.statusCode?.startsWith("2") &&
    !isTransactionNotFound(error);
}

/** Codes that reject a call, for example for a wrong server key, and not what it is about. */
export const CALL_REJECTIONS = ["401", "403", "404", "409", "429"];

/** The gateway did not respond or is rate limiting, so the same request may succeed later. */
export function isUnansweredOrRateLimited(error: GatewayError): boolean {
  return error instanceof GatewayRateLimitError || error.failure !== "answered";
}
