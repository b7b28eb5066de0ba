/** Statements that read jobs: one job, lists, due jobs and counts. */

import { MAX, NIL } from "uuid";
import type { Sql } from "./database.ts";
import { firstColumnIs } from "./list_walk.ts";
import {
  type DueJob,
  type GatewayJob,
  isAbandoned,
  JOB_RANKS,
  JOB_STATUSES,
  type JobRank,
  type JobStatus,
  MAX_TURN,
} from "./jobs.ts";

export async function findJob(sql: Sql, id: string): Promise<GatewayJob | null> {
  const [job] = await sql<[GatewayJob?]>`select * from gateway.jobs where id = ${id}`;
  return job ?? null;
}

/**
 * The members that decide in which order and within which limits a job runs. `turn` and `user_id`
 * are missing in messages of the previous release.
 */
export interface JobKind {
  task: string;
  rank: JobRank;
  /** 1 or higher for requests of callers, 0 for other jobs. */
  turn?: number;
  user_id?: string | null;
}

const KIND = "task, rank, turn, user_id";

export async function findKindOf(sql: Sql, id: string): Promise<JobKind | null> {
  const [kind] = await sql<[JobKind?]>`
    select ${sql.unsafe(KIND)} from gateway.jobs where id = ${id}`;
  return kind ?? null;
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

/** The due and the abandoned jobs of a rank, without requests of callers; longest due first. */
export async function listDueJobs(
  sql: Sql,
  rank: JobRank,
  now: Date,
  limit: number,
): Promise<(DueJob & JobKind)[]> {
  // So that only the index by turn fits (see `newestInRange` in `list_walk.ts`).
  return await sql<(DueJob & JobKind)[]>`
    select id, run_at, ${sql.unsafe(KIND)} from gateway.jobs
    where status in ('queued', 'running') and (status = 'queued' or ${isAbandoned(sql)})
      and ${firstColumnIs(sql, "rank", sql`${rank}::smallint`)}
      and turn = 0 and (run_at) <= (${now}::timestamptz)
    order by rank, turn, run_at limit ${limit}`;
}

/** The due and the abandoned requests of callers, by turn. */
export async function listDueRequests(
  sql: Sql,
  now: Date,
  limit: number,
): Promise<(DueJob & JobKind)[]> {
  const rank = JOB_RANKS.awaited;
  return await sql<(DueJob & JobKind)[]>`
    select id, run_at, ${sql.unsafe(KIND)} from gateway.jobs
    where status in ('queued', 'running') and (status = 'queued' or ${isAbandoned(sql)})
      and (rank, turn) >= (${rank}::smallint, 1) and (rank, turn) <= (${rank}::smallint, ${MAX_TURN})
      and run_at <= ${now}
    order by rank, turn, run_at limit ${limit}`;
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
