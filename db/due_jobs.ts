/** Jobs whose time has come: which, in what order, and how many. */

import type { Sql } from "./database.ts";
import { type DueJob, isLeft, type JobKind, type JobRank } from "./jobs.ts";

/** Of a rank, what is due or was left by its worker, the oldest first. */
export async function listDueJobs(
  sql: Sql,
  rank: JobRank,
  now: Date,
  limit: number,
): Promise<(DueJob & JobKind)[]> {
  // In the order of the one index that passes over all other ranks: see `listPayments`.
  return await sql<(DueJob & JobKind)[]>`
    select id, run_at, task, rank from gateway.jobs
    where status in ('queued', 'running') and (status = 'queued' or ${isLeft(sql, now)})
      and (rank, run_at) >= (${rank}::smallint, '-infinity'::timestamptz)
      and (rank, run_at) <= (${rank}::smallint, ${now}::timestamptz)
    order by rank, run_at limit ${limit}`;
}

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
