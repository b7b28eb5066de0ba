/** Turns any thrown error into a problem details response (RFC 9457). */

import { HTTPException } from "hono/http-exception";
import { ERROR_CODES, ServiceError } from "../../core/errors.ts";
import { redact } from "../../core/secrets/redact.ts";
import { DatabaseUnavailable } from "../../core/status/readiness.ts";
import type { ProblemSummary, RequestContext } from "../router.ts";

export function renderError(thrown: unknown, context: RequestContext): Response {
  const { code, status, detail, members, headers } = recordError(thrown, context);
  const problem = {
    type: `urn:payment-gateway:problem:${code}`,
    title: ERROR_CODES[code].title,
    status,
    detail,
    instance: context.requestId,
    code,
    ...members,
  };
  return new Response(JSON.stringify(problem), {
    status,
    headers: { ...headers, "Content-Type": "application/problem+json" },
  });
}

/** Unexpected errors are logged in full; the caller sees only `internal_error`. */
export function recordError(thrown: unknown, context: RequestContext): ServiceError {
  const { requestId, log } = context;
  const error = toServiceError(thrown);
  const summary = context.problem = summarize(error);
  if (isFailure(error)) log.error(error.code, thrown, { request_id: requestId, ...summary });
  return error;
}

/** The members of a problem that the log shows. */
const LOGGED_MEMBERS = [
  "payment_id",
  "invoice_id",
  "checkout_id",
  "subscription_id",
  "order_id",
  "outcome",
  "gateway_status_code",
];

/** Redacts text members, because callers choose order ids, which may contain a secret. */
function summarize({ code, members }: ServiceError): ProblemSummary {
  const summary: ProblemSummary = { code };
  for (const name of LOGGED_MEMBERS) {
    const value = members[name];
    if (value !== undefined) summary[name] = typeof value === "string" ? redact(value) : value;
  }
  return summary;
}

/**
 * Whether the operator has to know: the service or the gateway failed, or the server key is wrong.
 */
function isFailure({ code, status, members, isExpected }: ServiceError): boolean {
  if (status >= 500) return !isExpected;
  if (code === "gateway_authentication") return true;
  return code === "gateway_error" &&
    (members.outcome === "unknown" || Number(members.gateway_status_code) >= 500);
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
