/** How many jobs wait for their turn. */

import type { Sql } from "./database.ts";

/** Of a task, those that could run now; counted up to `most`. */
export async function countDueJobs(
  sql: Sql,
  task: string,
  now: Date,
  most: number,
): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from (
      select from gateway.jobs
      where status = 'queued' and task = ${task} and run_at <= ${now} limit ${most}
    ) due`;
  return row.count;
}
