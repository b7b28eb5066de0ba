/** The statements of workers: they claim due jobs, renew their leases, and release them. */

import type { Sql } from "../connection/database.ts";
import type { ThisInstance } from "../connection/instance_lock.ts";
import {
  type GatewayJob,
  type JobStatus,
  LANES,
  MAX_TURN,
  mergedLaneSql,
  mergedPayloadSql,
  NEXT_TURN,
} from "./jobs.ts";
import { END_LEASE, IS_LEASED, leaseEnd, newLease } from "../records/lease.ts";
import { firstColumnIs, type Fragment } from "../records/list_walk.ts";

export interface Claim {
  now: Date;
  leaseMs: number;
  thisInstance: ThisInstance;
}

/** How many jobs of a lane a worker can run now. */
export interface FreePlaces {
  lane: string;
  count: number;
}

/**
 * Claims jobs that are due, as many of each lane as it has free places: requests by turn, others
 * by time. Workers that claim at the same time get different jobs.
 */
export async function claimDueJobs(
  sql: Sql,
  free: readonly FreePlaces[],
  claim: Claim,
): Promise<ClaimedJob[]> {
  const requests = free.find(({ lane }) => lane === LANES.requests)?.count ?? 0;
  const others = free.filter(({ lane }) => lane !== LANES.requests);
  const order = sql`order by lane, turn, run_at`;
  return await claimIn(
    sql,
    sql`
      select ctid from (
        select ctid from gateway.jobs
        where status = 'queued' and run_at <= ${claim.now}
          and (lane, turn) >= (${LANES.requests}, 1) and (lane, turn) <= (${LANES.requests}, ${MAX_TURN})
        ${order} limit ${requests} for update skip locked
      ) request
      union all
      select due.ctid from ${freePlaces(sql, others)} cross join lateral (
        select ctid from gateway.jobs
        where status = 'queued' and ${firstColumnIs(sql, "lane", sql`free.lane`)}
          and turn = 0 and (run_at) <= (${claim.now}::timestamptz)
        ${order} limit free.count for update skip locked
      ) due`,
    claim,
  );
}

/** How many requests get their turns at a time. */
const MAX_TURNS = 500;

/**
 * Gives turns to requests that waited for a retry and are due now. Until then they have none:
 * otherwise each claim would read all of them, thousands after an outage of the gateway.
 */
export async function giveTurns(sql: Sql, now: Date): Promise<{ isDone: boolean }> {
  const rows = await sql`
    with due as materialized (
      select ctid, id, user_id, run_at from gateway.jobs
      where status = 'queued' and ${firstColumnIs(sql, "lane", sql`${LANES.requests}::text`)}
        and turn = 0 and (run_at) <= (${now}::timestamptz)
      order by lane, turn, run_at limit ${MAX_TURNS} for update skip locked
    ), placed as (
      select id, row_number() over (partition by user_id order by run_at) - 1 as earlier from due
    )
    update gateway.jobs new_job
    set turn = ${sql.unsafe(NEXT_TURN)} + (select earlier from placed where id = new_job.id)
    where ctid = any(array(select ctid from due))
    returning true`;
  return { isDone: rows.length < MAX_TURNS };
}

/** Claims running jobs whose worker is gone, as many of each lane as it has free places. */
export async function claimAbandonedJobs(
  sql: Sql,
  free: readonly FreePlaces[],
  claim: Claim,
): Promise<ClaimedJob[]> {
  return await claimIn(
    sql,
    sql`
      select abandoned.ctid from ${freePlaces(sql, free)} cross join lateral (
        select ctid from gateway.jobs
        where ${firstColumnIs(sql, "status", sql`'running'`)} and lane = free.lane
          and not ${sql.unsafe(IS_LEASED)}
        order by status, id limit free.count for update skip locked
      ) abandoned`,
    claim,
  );
}

function freePlaces(sql: Sql, free: readonly FreePlaces[]): Fragment {
  const lanes = free.map(({ lane }) => lane);
  const counts = free.map(({ count }) => count);
  return sql`unnest(${lanes}::text[], ${counts}::integer[]) free (lane, count)`;
}

async function claimIn(
  sql: Sql,
  rows: Fragment,
  { now, leaseMs, thisInstance }: Claim,
): Promise<ClaimedJob[]> {
  const { lease_id, holder } = newLease(thisInstance);
  // By the places of the rows in the table: with ids, a plan that PostgreSQL made while the table
  // was small scans it or another index. A row that has just been changed has another place: it is
  // not claimed now, but at the latest by the next poll.
  return await sql<ClaimedJob[]>`
    update gateway.jobs
    set status = 'running', attempts = attempts + 1, lease_id = ${lease_id},
      lease_until = ${sql.unsafe(leaseEnd(leaseMs))}, holder = ${holder}, updated_at = ${now}
    where ctid = any(array(${rows}))
    returning *`;
}

/** Claims this job if it is due or abandoned; null: it is neither. */
export async function claimJob(sql: Sql, id: string, claim: Claim): Promise<ClaimedJob | null> {
  const [job] = await claimIn(
    sql,
    sql`
      select ctid from gateway.jobs
      where ${firstColumnIs(sql, "id", sql`${id}::uuid`)} and (
        (status = 'queued' and run_at <= ${claim.now}) or
        (status = 'running' and not ${sql.unsafe(IS_LEASED)}))
      order by id limit 1 for update`,
    claim,
  );
  return job ?? null;
}

/** A claimed job. It is the worker's as long as the stored `lease_id` is this one. */
export interface ClaimedJob extends GatewayJob {
  lease_id: string;
}

/** How a worker releases a job: finished, or queued again for `run_at`. */
export interface ReleasedJob {
  status: Exclude<JobStatus, "running">;
  attempts: number;
  run_at: Date;
  /** JSON, or null. */
  result: string | null;
  error: string | null;
}

/**
 * Releases a claimed job; false: the claim is over, and nothing is written. Erases the
 * secret of a job that is finished. A request that is queued again gets its turn when it is due.
 */
export async function releaseJob(
  sql: Sql,
  { id, lease_id }: ClaimedJob,
  { status, attempts, run_at, result, error }: ReleasedJob,
  now: Date,
): Promise<boolean> {
  const rows = await sql`
    update gateway.jobs
    set status = ${status}, attempts = ${attempts}, run_at = ${run_at}, turn = 0,
      result = ${result}::text::json, error = ${error}, ${
    sql.unsafe(END_LEASE)
  }, updated_at = ${now},
      secret = case when ${status}::text = 'queued' or secret is null then secret else '' end
    where id = ${id} and lease_id = ${lease_id}
    returning true`;
  return rows.length > 0;
}

/**
 * Finishes a claimed job by merging the rest of its work into the queued job of the same task and
 * subject, and returns that job's id; null: none is queued, or another worker has the job.
 */
export async function handOverJob(
  sql: Sql,
  { id, lease_id }: ClaimedJob,
  now: Date,
): Promise<string | null> {
  const [successor] = await sql<[{ id: string }?]>`
    with successor as (
      update gateway.jobs waiting
      set payload = ${sql.unsafe(mergedPayloadSql("claimed", "waiting"))},
        lane = ${sql.unsafe(mergedLaneSql("claimed", "waiting"))}
      from gateway.jobs claimed
      where claimed.id = ${id} and claimed.lease_id = ${lease_id}
        and waiting.task = claimed.task and waiting.subject_id = claimed.subject_id
        and waiting.status = 'queued'
      returning waiting.id
    )
    update gateway.jobs job
    set status = 'succeeded', result = json_build_object('continued_by', successor.id), error = null,
      ${sql.unsafe(END_LEASE)}, updated_at = ${now}
    from successor
    where job.id = ${id} and job.lease_id = ${lease_id}
    returning successor.id`;
  return successor?.id ?? null;
}

/** Extends the lease of a claimed job, if its claim is not over. */
export async function renewLease(
  sql: Sql,
  { id, lease_id }: ClaimedJob,
  leaseMs: number,
): Promise<void> {
  await sql`
    update gateway.jobs set lease_until = ${sql.unsafe(leaseEnd(leaseMs))}
    where id = ${id} and lease_id = ${lease_id}`;
}
