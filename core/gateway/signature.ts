/** Tells whether a notification's signature is the gateway's. */

import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";

/**
 * The strings count exactly as they came: `44000.00` and `44000` have different signatures. Anything
 * else than strings, and any rubbish of any length, is simply no signature.
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
  // Without a key anybody could sign.
  if (serverKey === "") return false;
  const expected = createHash("sha512").update(orderId + statusCode + grossAmount + serverKey)
    .digest("hex");
  const [ours, theirs] = [Buffer.from(expected), Buffer.from(signatureKey)];
  // The length is no secret, and only equal ones can be compared.
  return ours.length === theirs.length && timingSafeEqual(ours, theirs);
}
