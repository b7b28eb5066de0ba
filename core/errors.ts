/** The one table of error codes, and the error that carries one to the caller. */

export const ERROR_CODES = {
  validation_error: { status: 400, title: "The request is not valid" },
  malformed_json: { status: 400, title: "The request body is not JSON" },
  invalid_state: { status: 400, title: "The resource is in no state for this" },
  duplicate_order: { status: 400, title: "The order id is taken" },
  refund_denied: { status: 400, title: "The bank refused the refund" },
  capture_denied: { status: 400, title: "The bank refused the capture" },
  gateway_error: { status: 400, title: "The gateway answered with an error" },
  gateway_validation: { status: 400, title: "The gateway does not take the request as it is" },
  gateway_authentication: { status: 400, title: "The gateway does not take the service's key" },
  gateway_rate_limited: { status: 400, title: "The gateway has had too many requests" },
  unauthenticated: { status: 401, title: "A valid credential is needed" },
  forbidden: { status: 403, title: "This is for staff" },
  signature_invalid: { status: 403, title: "The signature is not the gateway's" },
  not_found: { status: 404, title: "There is no such resource" },
  method_not_allowed: { status: 405, title: "The resource does not take this method" },
  idempotency_in_progress: {
    status: 409,
    title: "The first request with this Idempotency-Key still runs",
  },
  payload_too_large: { status: 413, title: "The request body is too large" },
  unsupported_media_type: { status: 415, title: "The request body has to be application/json" },
  idempotency_key_reused: {
    status: 422,
    title: "The Idempotency-Key belongs to another request",
  },
  rate_limited: { status: 429, title: "Too many requests" },
  internal_error: { status: 500, title: "Something went wrong on our side" },
  gateway_unreachable: { status: 502, title: "The gateway cannot be reached" },
  unavailable: { status: 503, title: "The service is not available right now" },
  gateway_timeout: { status: 504, title: "The gateway did not answer in time" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface FieldError {
  /** Where in the input, as a path: `item_details.0.price`. */
  field: string;
  message: string;
}

export interface ServiceErrorOptions {
  detail?: string;
  /** Response headers that belong to this error, such as `Retry-After`. */
  headers?: Record<string, string>;
  /** Further members of the problem document. */
  members?: Record<string, unknown>;
  cause?: unknown;
}

/** An error whose every part but `cause` is meant for the caller's eyes. */
export class ServiceError extends Error {
  override name = "ServiceError";
  readonly status: (typeof ERROR_CODES)[ErrorCode]["status"];
  readonly detail: string | null;
  readonly headers: Record<string, string>;
  readonly members: Record<string, unknown>;

  constructor(readonly code: ErrorCode, options: ServiceErrorOptions = {}) {
    super(options.detail ?? ERROR_CODES[code].title, { cause: options.cause });
    this.status = ERROR_CODES[code].status;
    this.detail = options.detail ?? null;
    this.headers = options.headers ?? {};
    this.members = options.members ?? {};
  }
}

/** One field of the input that is wrong for a reason that only shows later. */
export function invalidField(field: string, message: string): ServiceError {
  return new ServiceError("validation_error", {
    detail: `${field}: ${message}`,
    members: { errors: [{ field, message }] },
  });
}
