/** Tells whether what the gateway said is an answer or an error, and which. */

import type { Answered } from "./fields.ts";
import type { Answer } from "./answers.ts";
import * as errors from "./errors.ts";
import { type Json, type JsonObject, parseObject } from "./json.ts";
import { maskData, maskText, withSecretsIn } from "./mask.ts";
import type { GatewayRequest } from "./request.ts";
import { parseRetryAfter } from "./retry_after.ts";
import type { Reply } from "./transport.ts";

const KINDS: Record<number, typeof errors.GatewayError> = {
  400: errors.GatewayValidationError,
  401: errors.GatewayAuthenticationError,
  403: errors.GatewaySignatureError,
  406: errors.GatewayDuplicateOrderError,
  429: errors.GatewayRateLimitError,
};

/** The body's own code decides where there is one; HTTP says 200 to many an error. */
export function decide<T>(
  reply: Reply,
  request: GatewayRequest,
  schema: Answered<T>,
  now: number,
): Answer<T> {
  const raw = reply.isWhole ? parseObject(reply.text) : null;
  const said = raw && readCode(raw.status_code);
  const code = said ?? reply.status;
  // 407 is how the gateway says "expired"; as an HTTP status it would be some proxy's.
  const isAnswer = (code >= 200 && code < 300) || said === 407;
  const secrets = withSecretsIn(request.secrets, raw);
  if (raw && isAnswer) {
    return { statusCode: String(code), body: schema.parse(withCleanMessage(raw, secrets)), raw };
  }
  // Whoever else may stand in the way says 403 or 404 too, whatever became of the call behind them.
  const isItsOwn = raw !== null && OWN_MEMBERS.some((name) => name in raw);
  const isDefinite = code >= 400 && code < 500 && isItsOwn &&
    (said !== null || !UNSURE.includes(code));
  const messages = raw ? messagesIn(raw).map((text) => maskText(text, secrets)) : [];
  const Kind = KINDS[code] ?? errors.GatewayAPIError;
  throw new Kind(
    raw ? describe(raw, messages, code, secrets) : `The gateway answered ${code}, and no JSON`,
    {
      failure: "answered",
      outcome: request.isRead || isDefinite ? "refused" : "unknown",
      statusCode: String(code),
      data: raw && maskData(raw, secrets) as JsonObject,
      validationMessages: messages,
      retryAfterSeconds: parseRetryAfter(reply.retryAfter, now),
    },
  );
}

/** What it says to people is kept and shown, and may repeat what it was sent. */
function withCleanMessage(raw: JsonObject, secrets: string[]): JsonObject {
  const { status_message } = raw;
  if (typeof status_message !== "string") return raw;
  return { ...raw, status_message: maskText(status_message, secrets) };
}

/** Each part of the gateway has at least one of these in its errors (G§2.2). */
const OWN_MEMBERS = ["status_code", "status_message", "error_messages", "errors"];

/** Proxies say these when they lost patience; what the gateway did meanwhile they do not know. */
const UNSURE = [408, 499];

/** Three digits, as text or as a number. */
function readCode(value: Json | undefined): number | null {
  const isCode = typeof value !== "object" && /^[1-9]\d\d$/.test(String(value));
  return isCode ? Number(value) : null;
}

/** What is wrong in detail: each part of the gateway has another name for it. */
function messagesIn({ validation_messages, error_messages, errors }: JsonObject): string[] {
  return [validation_messages, error_messages, errors].flat().flatMap((each) =>
    typeof each === "string"
      ? [each]
      : each && typeof each === "object" && "message" in each && typeof each.message === "string"
      ? [each.message]
      : []
  );
}

/** Long enough for every message of the gateway's; a stray page must not fill the log. */
const MAX_LENGTH = 500;

function describe(raw: JsonObject, messages: string[], code: number, secrets: string[]): string {
  const said = typeof raw.status_message === "string" ? maskText(raw.status_message, secrets) : "";
  return (said || messages.join("; ")).slice(0, MAX_LENGTH) || `The gateway answered ${code}`;
}
