/** Verifies the signature of a notification. */

import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";

/**
 * The values must be exactly those received: `44000.00` and `44000` have different signatures.
 * Returns false if a value is not a string.
 */
export function verifySignature(
  orderId: unknown,
  statusCode: unknown,
  grossAmount: unknown,
  signatureKey: unknown,
  serverKey: string,
): boolean {
  if (
    typeof orderId !== "string" || typeof statusCode !== "string" ||
    typeof grossAmount !== "string" || typeof signatureKey !== "string"
  ) return false;
  // Anyone could compute a signature with an empty key.
  if (serverKey === "") return false;
  const expected = createHash("sha512").update(orderId + statusCode + grossAmount + serverKey)
    .digest("hex");
  const [ours, theirs] = [Buffer.from(expected), Buffer.from(signatureKey)];
  // `timingSafeEqual` requires equal lengths, and the length is not a secret.
  return ours.length === theirs.length && timingSafeEqual(ours, theirs);
}
