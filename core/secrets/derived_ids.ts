/**
 * Ids that follow from an idempotency key. A request that is repeated after the database has lost
 * its key gets the same order id and the same refund key, by which the gateway recognizes it. The
 * ids depend on a secret in the database, so that other callers cannot predict them.
 */

import { createHmac } from "node:crypto";
import { stringify } from "uuid";

/** Returns the same UUID for the same parts. */
export type DeriveId = (...parts: (string | number)[]) => string;

export function createDerivedIds(secret: Uint8Array): DeriveId {
  return (...parts) => {
    // The codes of links are computed with the same secret; no message of theirs begins with `[`.
    const bytes = createHmac("sha256", secret).update(JSON.stringify(parts)).digest();
    // Begins with a digit, so that it begins with the order prefix of no user (`order_prefix.ts`).
    bytes[0]! &= 0x0f;
    // A UUID whose content is not standardized (version 8).
    bytes[6] = bytes[6]! & 0x0f | 0x80;
    bytes[8] = bytes[8]! & 0x3f | 0x80;
    return stringify(bytes.subarray(0, 16));
  };
}
