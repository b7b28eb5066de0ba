/** Decides whether a response of the gateway is a result or an error, and which error. */

import * as errors from "./errors.ts";
import { type Json, type JsonObject, parseObject, type ResponseSchema } from "./json.ts";
import { maskData, maskText, withSecretsIn } from "./mask.ts";
import { parseRetryAfter } from "./rate_limit.ts";
import type { GatewayRequest } from "./request.ts";
import type { GatewayResponse } from "./responses.ts";
import type { RawResponse } from "./transport.ts";

const ERROR_CLASSES: Record<number, typeof errors.GatewayError> = {
  400: errors.GatewayValidationError,
  401: errors.GatewayAuthenticationError,
  403: errors.GatewaySignatureError,
  406: errors.GatewayDuplicateOrderError,
  429: errors.GatewayRateLimitError,
};

/**
 * Returns a result or throws a `GatewayError`. The body's `status_code` takes precedence over the
 * HTTP status: the gateway sends many errors with HTTP 200.
 */
export function interpretResponse<T>(
  response: RawResponse,
  request: GatewayRequest,
  schema: ResponseSchema<T>,
  now: number,
): GatewayResponse<T> {
  const raw = response.isComplete ? parseObject(response.text) : null;
  const bodyCode = raw && readCode(raw.status_code);
  const code = bodyCode ?? response.status;
  // In a body, 407 means "expired". As an HTTP status it can only come from a proxy.
  const isResult = (code >= 200 && code < 300) || bodyCode === 407;
  const secrets = withSecretsIn(request.secrets, raw);
  if (raw && isResult) {
    return { statusCode: String(code), body: schema.parse(withMaskedMessage(raw, secrets)), raw };
  }
  // A proxy or firewall can also send 403 or 404, even after the gateway executed the call.
  const isFromGateway = raw !== null && GATEWAY_ERROR_FIELDS.some((name) => name in raw);
  const isRefusal = isRejectedByProxy(response.status, raw) ||
    (code >= 400 && code < 500 && isFromGateway &&
      (bodyCode !== null || !PROXY_TIMEOUTS.includes(code)));
  const messages = raw ? readMessages(raw).map((text) => maskText(text, secrets)) : [];
  const ErrorClass = ERROR_CLASSES[code] ?? errors.GatewayAPIError;
  throw new ErrorClass(
    raw
      ? describe(raw, messages, code, secrets)
      : `The gateway responded with status ${code} and a body that is not JSON`,
    {
      failure: "answered",
      outcome: request.isRead || isRefusal ? "refused" : "unknown",
      statusCode: String(code),
      data: raw && maskData(raw, secrets) as JsonObject,
      validationMessages: messages,
      retryAfterSeconds: parseRetryAfter(response.retryAfter, now),
    },
  );
}

/** The message is stored and shown, and may repeat secrets of the request. */
function withMaskedMessage(raw: JsonObject, secrets: string[]): JsonObject {
  const { status_message } = raw;
  if (typeof status_message !== "string") return raw;
  return { ...raw, status_message: maskText(status_message, secrets) };
}

/** Every API of the gateway has at least one of these fields in its errors. */
const GATEWAY_ERROR_FIELDS = ["status_code", "status_message", "error_messages", "errors"];

/** Proxies send these HTTP statuses after a timeout: the gateway may have executed the call. */
const PROXY_TIMEOUTS = [408, 499];

/**
 * The proxy in front of the gateway sends these statuses for requests that it does not forward:
 * wrong credentials, no permission, no such route, too large, too many requests. Its errors have
 * only `message`.
 */
const PROXY_REJECTIONS = [401, 403, 404, 413, 429];

function isRejectedByProxy(status: number, raw: JsonObject | null): boolean {
  const isFromProxy = raw !== null && typeof raw.message === "string" &&
    Object.keys(raw).length === 1;
  return isFromProxy && PROXY_REJECTIONS.includes(status);
}

/** Three digits, as text or as a number. */
function readCode(value: Json | undefined): number | null {
  const isCode = typeof value !== "object" && /^[1-9]\d\d$/.test(String(value));
  return isCode ? Number(value) : null;
}

/** The details of an error. Each API of the gateway has its own field for them. */
function readMessages({ validation_messages, error_messages, errors }: JsonObject): string[] {
  return [validation_messages, error_messages, errors].flat().flatMap((each) =>
    typeof each === "string"
      ? [each]
      : each && typeof each === "object" && "message" in each && typeof each.message === "string"
      ? [each.message]
      : []
  );
}

/** Longer than every message of the gateway. An HTML page in a message must not fill the log. */
const MAX_MESSAGE_LENGTH = 500;

function describe(raw: JsonObject, messages: string[], code: number, secrets: string[]): string {
  const { status_message } = raw;
  const message = typeof status_message === "string" ? maskText(status_message, secrets) : "";
  return (message || messages.join("; ")).slice(0, MAX_MESSAGE_LENGTH) ||
    `The gateway responded with status ${code}`;
}
