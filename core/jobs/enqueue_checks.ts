/** Enqueues checks of the records that are due, as many as can run soon. */

import type { Sql } from "../../db/connection/database.ts";
import { countDueJobs, type DueJob, insertJobs, LANES, type NewJob } from "../../db/jobs/jobs.ts";
import { type CheckedTable, type DueCheck, postponeChecks } from "../../db/records/records.ts";
import { gatewayPauseMs } from "../gateway/background_pause.ts";
import type { CallType } from "../gateway/circuit_breaker.ts";
import { FIRST_CHECK_MS, nextCheck } from "../records/check_times.ts";
import type { Service } from "../service.ts";

/** Records per transaction, so that transactions stay short. */
const BATCH = 500;

/**
 * How many jobs may wait: as many as can run before the next sweep, which finds the other records.
 */
export const MAX_WAITING = 10_000;

/** A sweep over records of one kind. */
export interface Sweep {
  table: CheckedTable;
  /** The task of the jobs that the sweep enqueues. */
  task: string;
  /** The records that are due for a check, the one with the earliest `check_at` first. */
  list(sql: Sql, now: Date, limit: number): Promise<DueCheck[]>;
  job(record: DueCheck, now: Date): NewJob;
  /** The types of calls that the jobs make; by default they only read. */
  calls?: readonly CallType[];
}

/**
 * Returns how many checks were enqueued. Each batch is one transaction: if the process crashes, the
 * next run continues with the records that are still due.
 */
export async function enqueueChecks(service: Service, sweep: Sweep): Promise<number> {
  const enqueueBatch = (limit: number) => enqueueDueBatch(service, sweep, limit);
  return await enqueueInBatches(service, sweep.task, enqueueBatch, sweep.calls);
}

/** Stops when enough jobs wait, nothing is due, or the gateway is down. */
export async function enqueueInBatches(
  service: Service,
  task: string,
  enqueueBatch: (limit: number) => Promise<DueJob[]>,
  calls: readonly CallType[] = ["read"],
): Promise<number> {
  const room = await findRoom(service, task);
  let queued = 0;
  while (queued < room && gatewayPauseMs(service, calls) === 0) {
    const limit = Math.min(BATCH, room - queued);
    const jobs = await enqueueBatch(limit);
    for (const job of jobs) service.jobQueue.enqueue(job);
    queued += jobs.length;
    if (jobs.length < limit) break;
  }
  return queued;
}

/**
 * How many more jobs may wait. Without a limit, the queue would keep growing while the gateway is
 * slow.
 */
async function findRoom({ database, clock }: Service, task: string): Promise<number> {
  const now = new Date(clock());
  const waiting = await database.query(
    (sql) => countDueJobs(sql, task, now, MAX_WAITING),
    "count due jobs",
  );
  return MAX_WAITING - waiting;
}

async function enqueueDueBatch(
  { database, clock }: Service,
  { table, list, job }: Sweep,
  limit: number,
): Promise<DueJob[]> {
  const now = new Date(clock());
  return await database.transaction(async (sql) => {
    const due = await list(sql, now, limit);
    if (due.length === 0) return [];
    const next = due.map(({ id, created_at, expiry_time }) => ({
      id,
      check_at: nextCheck(created_at, now, expiry_time),
    }));
    await postponeChecks(sql, table, now, next);
    const checks = due.map((each) => ({
      ...job(each, now),
      run_at: now,
      lane: wasInterrupted(each, now) ? LANES.recovery : LANES.checks,
    }));
    return await insertJobs(sql, checks);
  }, `queue checks of ${table}`);
}

/**
 * Whether the record's creation was interrupted. If the gateway had answered it, the first check
 * would be later. Some creations can be sent again only for a few minutes, so their checks go
 * first.
 */
function wasInterrupted({ created_at }: DueCheck, now: Date): boolean {
  return now.getTime() - created_at.getTime() < FIRST_CHECK_MS;
}
