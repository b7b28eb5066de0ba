/** Idempotency keys. */

import { randomUUID } from "node:crypto";

/** A header with a new idempotency key. */
export function newKey() {
  return { "Idempotency-Key": randomUUID() };
}

export function isReplayed({ headers }: Response): boolean {
  return headers.get("Idempotency-Replayed") === "true";
}
