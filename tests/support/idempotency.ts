/** Idempotency keys. */

import { randomUUID } from "node:crypto";
import type { Database } from "../../db/connection/database.ts";

/** A header with a new idempotency key. */
export function newKey() {
  return { "Idempotency-Key": randomUUID() };
}

/** Leases end by the database's clock, so tests move the leases instead of the clock. */
export async function expireLeases(database: Database): Promise<void> {
  await database.query((sql) =>
    sql`update gateway.idempotency_keys set lease_until = 'epoch' where lease_until is not null`
  );
}

export function isReplayed({ headers }: Response): boolean {
  return headers.get("Idempotency-Replayed") === "true";
}
