/** Statements that read jobs: one job, lists, due jobs and counts. */

import { MAX, NIL } from "uuid";
import type { Sql } from "../connection/database.ts";
import { firstColumnIs } from "../records/list_walk.ts";
import { type GatewayJob, JOB_STATUSES, type JobStatus } from "./jobs.ts";

export async function findJob(sql: Sql, id: string): Promise<GatewayJob | null> {
  const [job] = await sql<[GatewayJob?]>`select * from gateway.jobs where id = ${id}`;
  return job ?? null;
}

export interface JobFilter {
  /** Null: any. */
  task: string | null;
  status: JobStatus | null;
  /** Only jobs created before this one. */
  before: string | null;
  limit: number;
}

/** Newest first. `newestInRange` in `list_walk.ts` explains the form of the conditions. */
export async function listJobs(
  sql: Sql,
  { task, status, before, limit }: JobFilter,
): Promise<GatewayJob[]> {
  const end = before ?? MAX;
  if (task !== null) {
    const statuses = status === null ? JOB_STATUSES : [status];
    return await sql<GatewayJob[]>`
      select found.*
      from unnest(${sql.array([...statuses])}::text[]) wanted_status
      cross join lateral (
        select * from gateway.jobs
        where ${firstColumnIs(sql, "task", sql`${task}::text`)}
          and (status, id) < (wanted_status, ${end}::uuid)
          and (status, id) >= (wanted_status, ${NIL}::uuid)
        order by task desc, status desc, id desc limit ${limit}
      ) found
      order by found.id desc limit ${limit}`;
  }
  const [statusColumn, statusValue, statusOrder] = status === null
    ? [sql``, sql``, sql``]
    : [sql`status,`, sql`${status}::text,`, sql`status desc,`];
  return await sql<GatewayJob[]>`
    select * from gateway.jobs
    where (${statusColumn} id) < (${statusValue} ${end}::uuid)
      and (${statusColumn} id) >= (${statusValue} ${NIL}::uuid)
    order by ${statusOrder} id desc limit ${limit}`;
}

/** Whether a job of this lane, which has no turns, has been due since this time. */
export async function hasDueJob(sql: Sql, lane: string, since: Date): Promise<boolean> {
  const rows = await sql`
    select from gateway.jobs
    where status = 'queued' and ${firstColumnIs(sql, "lane", sql`${lane}::text`)}
      and turn = 0 and (run_at) <= (${since}::timestamptz)
    order by lane, turn, run_at limit 1`;
  return rows.length > 0;
}

const MAX_IN_OTHER_LANES = 100;

/** The jobs that have been due since this time in lanes other than these. */
export async function listJobsInOtherLanes(
  sql: Sql,
  lanes: readonly string[],
  since: Date,
): Promise<string[]> {
  // Reads one entry of the index for each lane, instead of all jobs.
  const rows = await sql<{ id: string }[]>`
    with recursive waiting as (
      (select lane from gateway.jobs where status = 'queued' order by lane, turn, run_at limit 1)
      union all
      select (select lane from gateway.jobs where status = 'queued' and (lane) > (waiting.lane)
        order by lane, turn, run_at limit 1)
      from waiting where waiting.lane is not null
    )
    select job.id from waiting cross join lateral (
      select id from gateway.jobs
      where status = 'queued' and ${firstColumnIs(sql, "lane", sql`waiting.lane`)}
        and turn = 0 and (run_at) <= (${since}::timestamptz)
      order by lane, turn, run_at limit ${MAX_IN_OTHER_LANES}
    ) job
    where waiting.lane <> all(${[...lanes]}::text[])`;
  return rows.map(({ id }) => id);
}

/** How many jobs of a task are due; counting stops at `limit`. */
export async function countDueJobs(
  sql: Sql,
  task: string,
  now: Date,
  limit: number,
): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from (
      select from gateway.jobs
      where status = 'queued' and task = ${task} and run_at <= ${now} limit ${limit}
    ) due`;
  return row.count;
}

export interface JobOutcomes {
  succeeded: number;
  /** Including those that are queued for a retry. */
  failed: number;
  /** Postponed, without an error. */
  postponed: number;
  /** Claimed by another worker. */
  running: number;
  /** How many of the records that these jobs are about have changed their state. */
  changed: number;
  /** The most frequent errors of the failed jobs. */
  errors: { error: string; count: number }[];
}

const MAX_ERRORS = 5;

/**
 * The outcomes of these jobs, for the command that ran them. Looks up each job by its id: with
 * `id = any(…)`, a plan that PostgreSQL 15 made while the table was small reads a whole index.
 */
export async function findOutcomes(sql: Sql, ids: string[], since: Date): Promise<JobOutcomes> {
  const found = sql`
    with job as materialized (
      select found.* from unnest(${ids}::uuid[]) wanted (id) cross join lateral (
        select subject_id, status, error from gateway.jobs where id = wanted.id limit 1
      ) found
    )`;
  const [counts] = await sql<[Omit<JobOutcomes, "errors">]>`
    ${found}
    select
      count(*) filter (where status = 'succeeded')::int as succeeded,
      count(*) filter (where status in ('failed', 'queued') and error is not null)::int as failed,
      count(*) filter (where status = 'queued' and error is null)::int as postponed,
      count(*) filter (where status = 'running')::int as running,
      (select count(*)::int from (select distinct subject_id from job) subject
        where (select resource_id from gateway.history
          where resource_id = subject.subject_id and created_at >= ${since} limit 1) is not null
      ) as changed
    from job`;
  const errors = await sql<JobOutcomes["errors"]>`
    ${found}
    select error, count(*)::int as count from job
    where status in ('failed', 'queued') and error is not null
    group by error order by count desc, error limit ${MAX_ERRORS}`;
  return { ...counts, errors: [...errors] };
}
