/** Jobs: the model, and the statements that insert, queue, find, list and count them. */

import { MAX, NIL } from "uuid";
import type { Sql } from "../connection/database.ts";
import { claimKeysSql, type NewKey } from "../records/idempotency_keys.ts";
import { IS_LEASED } from "../records/lease.ts";
import { firstColumnIs } from "../records/list_walk.ts";
import { Statement } from "../records/statement.ts";

export interface GatewayJob {
  id: string;
  task: string;
  /** What the job works on, such as a payment. At most one job of a task is queued per subject. */
  subject_id: string | null;
  payload: Record<string, unknown>;
  /** Encrypted data for the job, such as a card token. Empty: erased. Null: the job needs none. */
  secret: string | null;
  user_id: string | null;
  lane: string;
  status: JobStatus;
  /** Attempts since it was created or, after it failed, requeued; postponed runs do not count. */
  attempts: number;
  run_at: Date;
  /** The lease of the worker that runs the job (lease.ts). */
  lease_id: string | null;
  lease_until: Date | null;
  holder: number | null;
  result: unknown;
  error: string | null;
  created_at: Date;
  updated_at: Date;
}

export const JOB_STATUSES = ["queued", "running", "succeeded", "failed"] as const;

export type JobStatus = (typeof JOB_STATUSES)[number];

export interface NewJob {
  id: string;
  task: string;
  subject_id: string | null;
  payload: object;
  secret?: string | null;
  user_id: string | null;
  /** Default: `recovery`. */
  lane?: string;
  run_at: Date;
  created_at: Date;
}

/**
 * Where due jobs wait. A worker has places for each lane, so that the jobs of one lane never delay
 * those of another. A task with its own limit has its own lane, which has the task's name.
 */
export const LANES = {
  /** Asynchronous requests of callers. The users take turns. */
  requests: "requests",
  /** Jobs that find out what happened, such as those for notifications and interrupted calls. */
  recovery: "recovery",
  /** Checks queued by sweeps and reconciliations, often by the thousand. */
  checks: "checks",
} as const;

/** The highest value of the column `turn`. */
export const MAX_TURN = 2 ** 31 - 1;

/**
 * The turn of a new request among the requests of all users. It is the turn after the last waiting
 * request of its user, but at least the lowest turn of all waiting requests: otherwise the first
 * requests of a user who was idle would run before all others. Requests that one user sends at the
 * same time may get the same turn. Row values are compared, so that the planner can only use the
 * indexes by turn, no matter what its statistics say.
 */
export const NEXT_TURN = `greatest(1,
        (select turn from gateway.jobs
          where status = 'queued' and (lane, turn) >= ('${LANES.requests}', 1)
            and (lane, turn) <= ('${LANES.requests}', ${MAX_TURN})
          order by lane, turn, run_at limit 1),
        (select turn + 1 from gateway.jobs
          where status = 'queued' and turn > 0 and (user_id, turn) >= (new_job.user_id, 1)
            and (user_id, turn) <= (new_job.user_id, ${MAX_TURN})
          order by user_id desc, turn desc limit 1))`;

/** The part of a job that a queue needs. */
export type DueJob = Pick<GatewayJob, "id" | "run_at">;

const JOB_COLUMNS = "id, task, subject_id, payload, secret, user_id, lane, run_at, created_at";

/** The names of tasks that deliver events to in-process handlers begin with this. */
export const DELIVER = "deliver ";

/** The member of a payload that marks a delivery whose event was skipped; see `markSkipped`. */
export const SKIPPED = "is_skipped";

/**
 * The payload of two jobs that become one. If they deliver a sequence of events, the merged job
 * continues at the lower sequence number; otherwise the members of both payloads are merged.
 */
export function mergedPayloadSql(older: string, newer: string): string {
  return `case
          when ${newer}.payload ->> 'sequence' is null
          then (${older}.payload::jsonb || jsonb_strip_nulls(${newer}.payload::jsonb))::json
          when (${newer}.payload ->> 'sequence')::int < (${older}.payload ->> 'sequence')::int
          then (${newer}.payload::jsonb - '${SKIPPED}')::json
          else (${older}.payload::jsonb - '${SKIPPED}')::json end`;
}

export function mergedLaneSql(older: string, newer: string): string {
  return `case ${older}.lane when '${LANES.checks}' then ${newer}.lane else ${older}.lane end`;
}

/**
 * Inserts jobs and returns them. If a job of the same task and subject is queued already, the new
 * one is merged into it, with the earlier `run_at`, and the queued job is returned. A merged check
 * leaves the lane of checks if one of the two jobs is more urgent.
 */
export function insertJobsSql(
  statement: Statement,
  jobs: NewJob[],
  where = "true",
  turn = "0",
): string {
  const rows = jobs.map((job) => ({ ...job, lane: job.lane ?? LANES.recovery }));
  return `
      insert into gateway.jobs as waiting (${JOB_COLUMNS}, updated_at, turn)
      select ${JOB_COLUMNS}, created_at, ${turn} from ${statement.rows("jobs", rows)} new_job
      where ${where}
      order by task, subject_id
      on conflict (task, subject_id) where status = 'queued' do update set
        run_at = least(waiting.run_at, excluded.run_at), updated_at = excluded.updated_at,
        lane = ${mergedLaneSql("waiting", "excluded")},
        payload = ${mergedPayloadSql("waiting", "excluded")}
      returning id, run_at, subject_id`;
}

export async function insertJobs(sql: Sql, jobs: NewJob[]): Promise<DueJob[]> {
  const statement = new Statement();
  const queued = await statement.run<DueJob>(sql, insertJobsSql(statement, jobs));
  return queued.map(({ id, run_at }) => ({ id, run_at }));
}

/** Inserts the job of a caller's request: the requests of all users take turns. */
export async function insertRequest(sql: Sql, job: NewJob): Promise<void> {
  const statement = new Statement();
  await statement.run(sql, insertJobsSql(statement, [asRequest(job)], "true", NEXT_TURN));
}

/** Like `insertRequest`. Returns false, and inserts nothing, if the idempotency key is in use. */
export async function insertKeyedRequest(
  sql: Sql,
  job: NewJob,
  { key, keysSince }: { key: NewKey; keysSince: Date },
): Promise<boolean> {
  const statement = new Statement();
  const claim = claimKeysSql(statement, [key], { keysSince, replaced: [] });
  const hasKey = "exists (select from claimed)";
  const insert = insertJobsSql(statement, [asRequest(job)], hasKey, NEXT_TURN);
  const rows = await statement.run(sql, `with claimed as (${claim}) ${insert}`);
  return rows.length > 0;
}

function asRequest(job: NewJob): NewJob {
  return { ...job, lane: LANES.requests };
}

/**
 * Whether another job of the same task and subject has to finish first: one that is running or
 * abandoned, or a queued one that starts at a lower sequence number.
 */
export async function hasToWait(
  sql: Sql,
  { id, task, subject_id }: GatewayJob,
  sequence: number,
): Promise<boolean> {
  const rows = await sql`
    select from gateway.jobs
    where task = ${task} and subject_id = ${subject_id} and status = 'running' and id <> ${id}
    union all
    select from gateway.jobs
    where task = ${task} and subject_id = ${subject_id} and status = 'queued'
      and (payload ->> 'sequence')::int < ${sequence}`;
  return rows.length > 0;
}

/** Queues a failed job again; null: no failed job has this id, or its secret was erased. */
export async function requeueJob(sql: Sql, id: string, now: Date): Promise<GatewayJob | null> {
  const [job] = await sql<[GatewayJob?]>`
    update gateway.jobs
    set status = 'queued', attempts = 0, run_at = ${now}, error = null, updated_at = ${now}
    where id = ${id} and status = 'failed' and secret is distinct from ''
    returning *`;
  return job ?? null;
}

/**
 * Queues a failed job again with a new secret, because the first secret was erased; null: the job
 * has not failed. Its error stays until the job has run: it may say that the request had an effect.
 */
export async function requeueWithSecret(
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

/** Makes a queued job due now. */
export async function makeJobDue(sql: Sql, id: string, now: Date): Promise<void> {
  await sql`
    update gateway.jobs set run_at = ${now}
    where id = ${id} and status = 'queued' and run_at > ${now}`;
}

/** Unfinished jobs for in-process handlers: the same condition as in index `jobs_to_deliver`. */
export const IS_UNDELIVERED =
  `jobs.status <> 'succeeded' and jobs.status <> 'failed' and starts_with(jobs.task, '${DELIVER}')`;

/** Marks a job whose event was skipped: if the job runs again, it delivers only that event. */
export async function markSkipped(sql: Sql, { id }: Pick<GatewayJob, "id">): Promise<void> {
  await sql`
    update gateway.jobs set payload = (payload::jsonb || ${sql.json({ [SKIPPED]: true })})::json
    where id = ${id}`;
}

/** Changes members of the payload of a running job, so that its next run continues there. */
export async function storeJobProgress(sql: Sql, id: string, progress: object): Promise<void> {
  await sql`
    update gateway.jobs
    set payload = (payload::jsonb || ${JSON.stringify(progress)}::text::jsonb)::json
    where id = ${id} and status = 'running'`;
}

export type LanedJob = NewJob & { lane: string };

/**
 * Queues the delivery jobs of webhook endpoints that are not disabled. A job that is already queued
 * for the same time or earlier is not written: it runs after this statement, and so finds the
 * events that are committed now. Never call it in the transaction of an event: transactions that
 * queue the same job would wait for each other.
 */
export async function wakeJobs(sql: Sql, jobs: LanedJob[]): Promise<DueJob[]> {
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

/**
 * The jobs that have been due since this time in lanes other than these, and those that have been
 * running since then and whose worker is gone.
 */
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
    where waiting.lane <> all(${[...lanes]}::text[])
    union all
    (select id from gateway.jobs
    where ${firstColumnIs(sql, "status", sql`'running'`)} and updated_at <= ${since}
      and lane <> all(${[...lanes]}::text[]) and not ${sql.unsafe(IS_LEASED)}
    order by status, id limit ${MAX_IN_OTHER_LANES})`;
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
