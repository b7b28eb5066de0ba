/** Holds on to a job for longer. */

import type { Sql } from "./database.ts";
import type { HeldJob } from "./jobs.ts";

/** False where the lease ran out and somebody else has the job. */
export async function renewLease(
  sql: Sql,
  { id, lease_until }: HeldJob,
  leaseUntil: Date,
): Promise<boolean> {
  const rows = await sql`
    update gateway.jobs set lease_until = ${leaseUntil}
    where id = ${id} and status = 'running' and lease_until = ${lease_until}
    returning true`;
  return rows.length > 0;
}
