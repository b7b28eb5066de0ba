/** What those need who run jobs by hand: to have one run now, and to see what came of many. */

import type { Sql } from "./database.ts";

/** A job that waits for its time no longer does. */
export async function bringForward(sql: Sql, id: string, now: Date): Promise<void> {
  await sql`
    update gateway.jobs set run_at = ${now}
    where id = ${id} and status = 'queued' and run_at > ${now}`;
}

export interface JobOutcomes {
  succeeded: number;
  /** For good, or for now: then it is tried again. */
  failed: number;
  /** It was too early. */
  putOff: number;
  /** Another worker has them. */
  running: number;
  /** Of what they were about, how much is in another state since. */
  changed: number;
  /** Why those failed that did; the most frequent reasons. */
  errors: { error: string; count: number }[];
}

const MOST_ERRORS = 5;

export async function findOutcomes(sql: Sql, ids: string[], since: Date): Promise<JobOutcomes> {
  const [counts] = await sql<[Omit<JobOutcomes, "errors">]>`
    select
      count(*) filter (where status = 'succeeded')::int as succeeded,
      count(*) filter (where status in ('failed', 'queued') and error is not null)::int as failed,
      count(*) filter (where status = 'queued' and error is null)::int as "putOff",
      count(*) filter (where status = 'running')::int as running,
      (select count(distinct resource_id)::int from gateway.history
        where created_at >= ${since} and resource_id in (
          select subject_id from gateway.jobs where id = any(${ids}::uuid[]))) as changed
    from gateway.jobs where id = any(${ids}::uuid[])`;
  const errors = await sql<JobOutcomes["errors"]>`
    select error, count(*)::int as count from gateway.jobs
    where id = any(${ids}::uuid[]) and status in ('failed', 'queued') and error is not null
    group by error order by count desc, error limit ${MOST_ERRORS}`;
  return { ...counts, errors: [...errors] };
}
