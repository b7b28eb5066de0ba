/** The table of error codes, and the errors that become error responses. */

export const ERROR_CODES = {
  validation_error: { status: 400, title: "The request is invalid" },
  malformed_json: { status: 400, title: "The request body is not valid JSON" },
  invalid_state: {
    status: 400,
    title: "This action is not allowed in the resource's current state",
  },
  duplicate_order: { status: 400, title: "The order id is already in use" },
  refund_denied: { status: 400, title: "The bank declined the refund" },
  capture_denied: { status: 400, title: "The bank declined the capture" },
  gateway_error: { status: 400, title: "The gateway returned an error" },
  gateway_validation: { status: 400, title: "The gateway rejected the request as invalid" },
  gateway_authentication: { status: 400, title: "The gateway rejected the server key" },
  gateway_rate_limited: { status: 400, title: "The gateway is rate limiting requests" },
  unauthenticated: { status: 401, title: "A valid API key or token is required" },
  forbidden: { status: 403, title: "The credential does not permit this request" },
  signature_invalid: { status: 403, title: "The notification's signature is invalid" },
  not_found: { status: 404, title: "Resource not found" },
  method_not_allowed: { status: 405, title: "Method not allowed for this resource" },
  idempotency_in_progress: {
    status: 409,
    title: "The first request with this Idempotency-Key is still in progress",
  },
  unknown_event: { status: 410, title: "The event does not exist in this database" },
  payload_too_large: { status: 413, title: "The request body is too large" },
  unsupported_media_type: { status: 415, title: "The Content-Type is not supported" },
  idempotency_key_reused: {
    status: 422,
    title: "The Idempotency-Key was already used for a different request",
  },
  rate_limited: { status: 429, title: "Too many requests" },
  internal_error: { status: 500, title: "An unexpected error occurred in the service" },
  gateway_unreachable: { status: 502, title: "The gateway could not be reached" },
  unavailable: { status: 503, title: "The service is temporarily unavailable" },
  gateway_timeout: { status: 504, title: "The gateway did not respond in time" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface FieldError {
  /** Path of the field in the input, such as `item_details.0.price`. */
  field: string;
  message: string;
}

export interface ServiceErrorOptions {
  detail?: string;
  /** Response headers that belong to this error, such as `Retry-After`. */
  headers?: Record<string, string>;
  /** Additional members of the response body. */
  members?: Record<string, unknown>;
  cause?: unknown;
  /** The error is part of normal operation, such as a shutdown, and is not logged as an error. */
  isExpected?: boolean;
}

/** An error that is sent to the caller, except for `cause`, which is only logged. */
export class ServiceError extends Error {
  override name = "ServiceError";
  readonly status: (typeof ERROR_CODES)[ErrorCode]["status"];
  readonly detail: string | null;
  readonly headers: Record<string, string>;
  readonly members: Record<string, unknown>;
  readonly isExpected: boolean;

  constructor(readonly code: ErrorCode, options: ServiceErrorOptions = {}) {
    super(options.detail ?? ERROR_CODES[code].title, { cause: options.cause });
    this.status = ERROR_CODES[code].status;
    this.detail = options.detail ?? null;
    this.headers = options.headers ?? {};
    this.members = options.members ?? {};
    this.isExpected = options.isExpected ?? false;
  }
}

/** A `validation_error` for one field, found after schema validation. */
export function invalidField(field: string, message: string): ServiceError {
  return new ServiceError("validation_error", {
    detail: `${field}: ${message}`,
    members: { errors: [{ field, message }] },
  });
}
