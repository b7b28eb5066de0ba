/** Parses the body of a notification, and removes what is not stored. */

import { type FieldError, ServiceError } from "../errors.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { type Json, type JsonObject, MAX_DEPTH, toStorableText } from "../gateway/json.ts";
import { isPaymentNumber, isSecretName, maskText } from "../gateway/mask.ts";
import { Transaction } from "../gateway/responses.ts";

/** A notification about a transaction. Its signature is valid. */
export interface SignedNotification {
  type: "signed";
  /** The signature covers these three, exactly as they were received. */
  orderId: string;
  statusCode: string;
  grossAmount: string;
  /** All fields of the notification. The signature covers only the three values above. */
  transaction: Transaction;
  /** The body as it is stored. */
  payload: JsonObject;
}

/** A notification about a subscription or a linked account, which the gateway does not sign. */
export interface UnsignedNotification {
  type: "unsigned";
  body: JsonObject;
}

const REQUIRED = ["order_id", "transaction_status", "status_code", "gross_amount", "signature_key"];

/** The gateway's signed values are never longer. */
const MAX_LENGTH = 255;

/**
 * Any client can send a notification. So the notification of a transaction is not used before its
 * signature is verified. Throws `validation_error` or `signature_invalid`.
 */
export function parseNotification(
  payload: unknown,
  { verifySignature }: Pick<GatewayClient, "verifySignature">,
): SignedNotification | UnsignedNotification {
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) {
    throw invalid([{ field: "body", message: "must be an object" }]);
  }
  const body = payload as JsonObject;
  if (isUnsigned(body)) return { type: "unsigned", body };
  const errors = REQUIRED.flatMap((field) => {
    const message = missingMessage(body[field]) ??
      (field !== "signature_key" && malformedMessage(body[field]));
    return message ? [{ field, message }] : [];
  });
  if (errors.length > 0) throw invalid(errors);
  const signed = {
    orderId: body.order_id as string,
    statusCode: body.status_code as string,
    grossAmount: body.gross_amount as string,
  };
  const { orderId, statusCode, grossAmount } = signed;
  if (!verifySignature(orderId, statusCode, grossAmount, body.signature_key as string)) {
    throw new ServiceError("signature_invalid", {
      detail:
        "The signature does not match the signed fields. Check that GATEWAY_SERVER_KEY is the " +
        "server key of the gateway account that sent the notification.",
    });
  }
  const transaction = Transaction.parse(body);
  return { type: "signed", ...signed, transaction, payload: withoutSecrets(body) };
}

/** The gateway signs notifications about transactions only (docs/gateway.md#notifications). */
function isUnsigned(body: JsonObject): boolean {
  if ("order_id" in body || "transaction_status" in body) return false;
  return "subscription" in body || "schedule" in body || "account_id" in body;
}

function missingMessage(value: unknown): string | null {
  if (value === undefined || value === null || value === "") return "is required";
  return typeof value === "string" ? null : "must be a string";
}

/** Not called for `signature_key`: a malformed signature fails its verification anyway. */
function malformedMessage(value: unknown): string | null {
  const text = value as string;
  if (text.length > MAX_LENGTH) return `must be at most ${MAX_LENGTH} characters`;
  // In the path of a request to the gateway, dots would address the parent folder.
  if (/^\.{1,2}$/.test(text)) return "must not be . or ..";
  return toStorableText(text) === text
    ? null
    : "must not contain NUL characters or unpaired surrogates";
}

function invalid(errors: FieldError[]): ServiceError {
  const detail = errors.map(({ field, message }) => `${field}: ${message}`).join("; ");
  return new ServiceError("validation_error", { detail, members: { errors } });
}

/**
 * The body without its signature, tokens and card numbers, and without the customer: personal data
 * is stored with the payment only.
 */
export function withoutSecrets({ customer_details: _, ...body }: JsonObject): JsonObject {
  return clean(body, 0) as JsonObject;
}

/** Only text that matches this can contain something to mask; the full check is slow. */
const SUSPECT = /\d(?:[ -]?\d){12}|[?&"]|3ds|basic|bearer/i;

function clean(data: Json, depth: number): Json {
  if (typeof data === "string") return cleanText(data);
  if (typeof data !== "object" || data === null) return data;
  // The gateway sends nothing that is nested this deep.
  if (depth > MAX_DEPTH) return null;
  if (Array.isArray(data)) return data.map((each) => clean(each, depth + 1));
  // Without a prototype: a member called `__proto__` must be an ordinary member.
  const kept: JsonObject = Object.create(null);
  for (const name in data) {
    if (!isSecretName(name)) kept[cleanName(name)] = cleanMember(name, data[name]!, depth);
  }
  return kept;
}

/** Nearly all names match this and skip the slow check: no secret has only these characters. */
const PLAIN_NAME = /^[a-z_]+$/;

function cleanName(name: string): string {
  return PLAIN_NAME.test(name) ? name : cleanText(name);
}

function cleanMember(name: string, value: Json, depth: number): Json {
  const isNumber = typeof value === "string" && isPaymentNumber(name);
  return isNumber ? toStorableText(value) : clean(value, depth + 1);
}

function cleanText(text: string): string {
  const storableText = toStorableText(text);
  return SUSPECT.test(storableText) ? maskText(storableText) : storableText;
}
