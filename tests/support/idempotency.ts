/** Keys of requests in tests. */

import { randomUUID } from "node:crypto";

/** The header of a request that bears a key of its own. */
export function newKey() {
  return { "Idempotency-Key": randomUUID() };
}

export function isReplayed({ headers }: Response): boolean {
  return headers.get("Idempotency-Replayed") === "true";
}
