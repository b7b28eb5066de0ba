/** Jobs that somebody asked for and asks for once more. */

import type { Sql } from "./database.ts";
import type { GatewayJob } from "./jobs.ts";

/**
 * Has a failed job begun anew, with what it needs that may have been erased; null where it is not
 * failed, or no longer. Its error stays until there is a better word: it may tell of something done.
 */
export async function askAgain(
  sql: Sql,
  id: string,
  secret: string | null,
  now: Date,
): Promise<GatewayJob | null> {
  const [job] = await sql<[GatewayJob?]>`
    update gateway.jobs
    set status = 'queued', attempts = 0, run_at = ${now}, secret = ${secret}, updated_at = ${now}
    where id = ${id} and status = 'failed'
    returning *`;
  return job ?? null;
}
