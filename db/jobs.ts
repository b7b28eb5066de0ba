/** Jobs: the model, and the statements that enqueue, claim and finish them. */

import type { Sql } from "./database.ts";
import { type ClaimedKey, claimingKeys } from "./idempotency_keys.ts";
import { Statement } from "./statement.ts";

export interface GatewayJob {
  id: string;
  task: string;
  /** What it is about, such as a payment: of one task one job waits for each. */
  subject_id: string | null;
  payload: Record<string, unknown>;
  /** What it needs and nobody may read, encrypted; empty once it was erased, null without one. */
  secret: string | null;
  user_id: string | null;
  status: JobStatus;
  /** How often it was begun. */
  attempts: number;
  run_at: Date;
  /** A running job whose worker did not come back until then is anybody's. */
  lease_until: Date | null;
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
  /** Where left out, somebody waits for it. */
  rank?: JobRank;
  run_at: Date;
  created_at: Date;
}

/** What comes first where much is due: what somebody waits for, and last what sweeps look at. */
export const JOB_RANKS = { awaited: 0, delivery: 1, look: 2 } as const;

export type JobRank = (typeof JOB_RANKS)[keyof typeof JOB_RANKS];

/** What a carrier has to know of a job. */
export type DueJob = Pick<GatewayJob, "id" | "run_at">;

export const JOB_COLUMNS =
  "id, task, subject_id, payload, secret, user_id, rank, run_at, created_at";

/** Tasks that bring events to those who listen have names that begin so. */
export const DELIVER = "deliver ";

/** In the payload of a delivery that was given up: those after it were gone on with. */
export const LEFT_OUT = "is_left_out";

/**
 * Where two become one, all that was to be done by either still is: of those that go through a
 * sequence it begins where the earlier does, and goes on from there, of all others it knows what
 * either knew.
 */
function mergedPayload(older: string, newer: string): string {
  return `case
          when ${newer}.payload ->> 'sequence' is null
          then (${older}.payload::jsonb || jsonb_strip_nulls(${newer}.payload::jsonb))::json
          when (${newer}.payload ->> 'sequence')::int < (${older}.payload ->> 'sequence')::int
          then (${newer}.payload::jsonb - '${LEFT_OUT}')::json
          else (${older}.payload::jsonb - '${LEFT_OUT}')::json end`;
}

/**
 * Writes jobs, and returns those that wait now: where one of the same task and subject waits already,
 * it is brought forward instead.
 */
export function insertingJobs(statement: Statement, jobs: NewJob[], where = "true"): string {
  const ranked = jobs.map((job) => ({ ...job, rank: job.rank ?? JOB_RANKS.awaited }));
  return `
      insert into gateway.jobs as waiting (${JOB_COLUMNS}, updated_at)
      select ${JOB_COLUMNS}, created_at from ${statement.rows("jobs", ranked)} where ${where}
      order by task, subject_id
      on conflict (task, subject_id) where status = 'queued' do update set
        run_at = least(waiting.run_at, excluded.run_at), updated_at = excluded.updated_at,
        rank = least(waiting.rank, excluded.rank),
        payload = ${mergedPayload("waiting", "excluded")}
      returning id, run_at, subject_id`;
}

export async function insertJobs(sql: Sql, jobs: NewJob[]): Promise<DueJob[]> {
  const statement = new Statement();
  const waiting = await statement.run<DueJob>(sql, insertingJobs(statement, jobs));
  return waiting.map(({ id, run_at }) => ({ id, run_at }));
}

/** Writes a job unless its key is known already: then nothing is written, and false. */
export async function insertKeyedJob(
  sql: Sql,
  job: NewJob,
  { key, keysSince }: { key: ClaimedKey; keysSince: Date },
): Promise<boolean> {
  const statement = new Statement();
  const claiming = claimingKeys(statement, [key], { keysSince, replaced: [] });
  const inserting = insertingJobs(statement, [job], "exists (select from claimed)");
  const rows = await statement.run(sql, `with claimed as (${claiming}) ${inserting}`);
  return rows.length > 0;
}

export interface Claim {
  now: Date;
  /** What is due by then counts as due. */
  dueBy: Date;
  leaseUntil: Date;
}

/**
 * Takes a job that is due, or whose worker is gone; null where there is nothing to take. Of many who
 * try at once one gets it: the others wait for its row and then find it running. The database's own
 * clock counts as well, for by that one the queue has brought it.
 */
export async function claimJob(
  sql: Sql,
  id: string,
  { now, dueBy, leaseUntil }: Claim,
): Promise<HeldJob | null> {
  const [job] = await sql<[HeldJob?]>`
    update gateway.jobs
    set status = 'running', attempts = attempts + 1, lease_until = ${leaseUntil},
      updated_at = ${now}
    where id = ${id} and (
      (status = 'queued' and (run_at <= ${dueBy} or run_at <= now())) or
      (status = 'running' and ${isLeft(sql, now)}))
    returning *`;
  return job ?? null;
}

/**
 * Whether the worker of a job that runs is gone: its lease is over, or ends so late that it was given
 * by a clock that went wrong.
 */
export function isLeft(sql: Sql, now: Date): ReturnType<Sql> {
  return sql`(lease_until <= ${now} or lease_until > ${now}::timestamptz + interval '10 minutes')`;
}

/** A job in a worker's hands, for as long as nobody else's lease is on it. */
export interface HeldJob extends GatewayJob {
  lease_until: Date;
}

/** How a worker leaves a job: over, or to be begun again at `run_at`. */
export interface LeftJob {
  status: Exclude<JobStatus, "running">;
  attempts: number;
  run_at: Date;
  /** JSON; null is no result. */
  result: string | null;
  error: string | null;
}

/**
 * Ends a worker's hold; false where its lease ran out and somebody else has the job. With the job its
 * secret ends, too.
 */
export async function leaveJob(
  sql: Sql,
  { id, lease_until }: HeldJob,
  { status, attempts, run_at, result, error }: LeftJob,
  now: Date,
): Promise<boolean> {
  const rows = await sql`
    update gateway.jobs
    set status = ${status}, attempts = ${attempts}, run_at = ${run_at},
      result = ${result}::text::json, error = ${error}, lease_until = null, updated_at = ${now},
      secret = case when ${status}::text = 'queued' or secret is null then secret else '' end
    where id = ${id} and status = 'running' and lease_until = ${lease_until}
    returning true`;
  return rows.length > 0;
}

/**
 * Ends a worker's hold by leaving what is still to be done to the job that waits for the same task
 * and subject; null where none does, or where somebody else has the job.
 */
export async function handOverJob(
  sql: Sql,
  { id, lease_until }: HeldJob,
  now: Date,
): Promise<string | null> {
  const [heir] = await sql<[{ id: string }?]>`
    with heir as (
      update gateway.jobs waiting
      set payload = ${sql.unsafe(mergedPayload("held", "waiting"))},
        rank = least(held.rank, waiting.rank)
      from gateway.jobs held
      where held.id = ${id} and held.status = 'running' and held.lease_until = ${lease_until}
        and waiting.task = held.task and waiting.subject_id = held.subject_id
        and waiting.status = 'queued'
      returning waiting.id
    )
    update gateway.jobs job
    set status = 'succeeded', result = json_build_object('continued_by', heir.id), error = null,
      lease_until = null, updated_at = ${now}
    from heir
    where job.id = ${id} and job.status = 'running' and job.lease_until = ${lease_until}
    returning heir.id`;
  return heir?.id ?? null;
}

/**
 * Whether another job of the same task and subject has to come first: one that runs, or whose worker
 * is gone but which was not taken up again; or one that waits and begins earlier in the sequence.
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

/** Has a failed job begun anew; null where there is none, or what it needs was erased. */
export async function queueAgain(sql: Sql, id: string, now: Date): Promise<GatewayJob | null> {
  const [job] = await sql<[GatewayJob?]>`
    update gateway.jobs
    set status = 'queued', attempts = 0, run_at = ${now}, error = null, updated_at = ${now}
    where id = ${id} and status = 'failed' and secret is distinct from ''
    returning *`;
  return job ?? null;
}

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

/** A job that waits for its time no longer does. */
export async function bringForward(sql: Sql, id: string, now: Date): Promise<void> {
  await sql`
    update gateway.jobs set run_at = ${now}
    where id = ${id} and status = 'queued' and run_at > ${now}`;
}

/** In the words of the index that holds them and nothing else. */
export const IS_UNDELIVERED =
  `jobs.status <> 'succeeded' and jobs.status <> 'failed' and starts_with(jobs.task, '${DELIVER}')`;

/** Those that came after it were gone on with: whoever has it run again tells of it alone. */
export async function noteLeftOut(sql: Sql, { id }: Pick<GatewayJob, "id">): Promise<void> {
  await sql`
    update gateway.jobs set payload = (payload::jsonb || ${sql.json({ [LEFT_OUT]: true })})::json
    where id = ${id}`;
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
