/**
 * Tells of events that are committed: whoever follows them, and whoever delivers them. Never in the
 * transaction of an event: PostgreSQL lets only one transaction commit at a time that tells something,
 * and jobs about the same would wait for each other.
 */

import type { Sql } from "./database.ts";
import { type DueJob, JOB_COLUMNS, type JobRank, type NewJob } from "./jobs.ts";
import { Statement } from "./statement.ts";

/** Those who follow events listen to it. */
export const EVENTS_CHANNEL = "gateway_events";

export async function tellFollowers(sql: Sql): Promise<void> {
  await sql`select pg_notify(${EVENTS_CHANNEL}, '')`;
}

export type RankedJob = NewJob & { rank: JobRank };

/**
 * For endpoints that are not disabled. A job that waits already, for no later time, is left alone: it
 * will be run after this, and so it finds what is committed by now.
 */
export async function wakeJobs(sql: Sql, jobs: RankedJob[]): Promise<DueJob[]> {
  const statement = new Statement();
  return await statement.run<DueJob>(
    sql,
    `insert into gateway.jobs as waiting (${JOB_COLUMNS}, updated_at)
    select ${JOB_COLUMNS}, created_at from ${statement.rows("jobs", jobs)}
    where subject_id not in (
      select id from gateway.webhook_endpoints
      where disabled_reason is not null and deleted_at is null)
    order by task, subject_id
    on conflict (task, subject_id) where status = 'queued' do update set
      run_at = excluded.run_at, updated_at = excluded.updated_at
      where waiting.run_at > excluded.run_at
    returning id, run_at`,
  );
}
