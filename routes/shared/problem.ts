/** Turns any thrown error into a problem details response (RFC 9457). */

import { HTTPException } from "hono/http-exception";
import { ERROR_CODES, ServiceError } from "../../core/errors.ts";
import { DatabaseUnavailable } from "../../core/status/readiness.ts";
import type { RequestContext } from "./router.ts";

/** Unexpected errors are logged in full; the caller sees only `internal_error`. */
export function renderError(thrown: unknown, { requestId, log }: RequestContext): Response {
  const { code, status, detail, members, headers, isExpected } = toServiceError(thrown);
  if (status >= 500 && !isExpected) log.error(code, thrown, { request_id: requestId });
  const problem = {
    type: `urn:payment-gateway:problem:${code}`,
    title: ERROR_CODES[code].title,
    status,
    detail,
    instance: requestId,
    code,
    ...members,
  };
  return new Response(JSON.stringify(problem), {
    status,
    headers: { ...headers, "Content-Type": "application/problem+json" },
  });
}

function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  if (thrown instanceof DatabaseUnavailable) {
    return new ServiceError("unavailable", { headers: { "Retry-After": "2" } });
  }
  // Hono's validators throw these for a body that is not JSON or has another content type.
  if (thrown instanceof HTTPException && thrown.status < 500) {
    return new ServiceError(thrown.status === 415 ? "unsupported_media_type" : "malformed_json");
  }
  return new ServiceError("internal_error");
}
