/** Reads what somebody claims that the gateway tells. */

import { ServiceError } from "../errors.ts";
import { type JsonObject, toStorableText } from "../gateway/json.ts";
import { Transaction } from "../gateway/responses.ts";

/** A call that has all that a signature is about. */
export interface Claim {
  /** These three are signed, as text and exactly as they came. */
  orderId: string;
  statusCode: string;
  grossAmount: string;
  signature: string;
  /** Nothing else is. */
  told: Transaction;
  raw: JsonObject;
}

const NEEDED = ["order_id", "transaction_status", "status_code", "gross_amount", "signature_key"];

/** Nothing that the gateway signs is longer. */
const MAX_LENGTH = 255;

/** Null: it is one of those that the gateway does not sign, or nobody knows how. */
export function readClaim(payload: unknown): Claim | null {
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) {
    throw invalid([{ field: "body", message: "must be an object" }]);
  }
  const raw = payload as JsonObject;
  if (isUnsigned(raw)) return null;
  const errors = NEEDED.flatMap((field) => {
    const message = absenceOf(raw[field]) ?? (field !== "signature_key" && oddityOf(raw[field]));
    return message ? [{ field, message }] : [];
  });
  if (errors.length > 0) throw invalid(errors);
  return {
    orderId: raw.order_id as string,
    statusCode: raw.status_code as string,
    grossAmount: raw.gross_amount as string,
    signature: raw.signature_key as string,
    told: Transaction.parse(raw),
    raw,
  };
}

/**
 * About subscriptions (a bare one, or one cycle of it) and linked accounts (G§7, G§9.1). They can
 * make nobody believe anything.
 */
function isUnsigned(raw: JsonObject): boolean {
  if ("order_id" in raw || "transaction_status" in raw) return false;
  return "subscription" in raw || "schedule" in raw || "account_id" in raw;
}

function absenceOf(value: unknown): string | null {
  if (value === undefined || value === null || value === "") return "is required";
  return typeof value === "string" ? null : "must be text";
}

/** A signature may be any rubbish: it is no signature then. What is signed is also kept. */
function oddityOf(value: unknown): string | null {
  const text = value as string;
  if (text.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters`;
  // In a path they would be the folder above.
  if (/^\.{1,2}$/.test(text)) return "must not be dots alone";
  return toStorableText(text) === text ? null : "must not hold broken characters";
}

function invalid(errors: { field: string; message: string }[]): ServiceError {
  return new ServiceError("validation_error", { members: { errors } });
}
