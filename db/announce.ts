/** Tells of events that are committed: whoever follows them, and whoever delivers them. */

import type { Sql } from "./database.ts";
import { type DueJob, JOB_COLUMNS, type JobRank, type NewJob } from "./jobs.ts";
import { Statement } from "./statement.ts";

export type RankedJob = NewJob & { rank: JobRank };

/** Those who follow events listen to it. */
export const EVENTS_CHANNEL = "gateway_events";

/**
 * Never in the transaction of an event: PostgreSQL lets only one transaction commit at a time that
 * tells something, and jobs about the same would wait for each other. A job that waits already, for no
 * later time, is left alone: it will be run after this, and so it finds what is committed by now.
 */
export async function announce(sql: Sql, jobs: RankedJob[]): Promise<DueJob[]> {
  const statement = new Statement();
  const rows = await statement.run<DueJob>(
    sql,
    `with told as materialized (select pg_notify('${EVENTS_CHANNEL}', ''))
    , woken as (
      insert into gateway.jobs as waiting (${JOB_COLUMNS}, updated_at)
      select ${JOB_COLUMNS}, created_at from ${statement.rows("jobs", jobs)}
      order by task, subject_id
      on conflict (task, subject_id) where status = 'queued' do update set
        run_at = excluded.run_at, updated_at = excluded.updated_at
        where waiting.run_at > excluded.run_at
      returning id, run_at
    )
    select woken.id, woken.run_at from told left join woken on true`,
  );
  return rows.filter(({ id }) => id !== null);
}
