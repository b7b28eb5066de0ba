/** Queues a look at every record whose time for one has come: so many as can be looked at soon. */

import type { Sql } from "../../db/database.ts";
import { countDueJobs } from "../../db/job_queries.ts";
import { type DueJob, insertJobs, JOB_RANKS, type NewJob } from "../../db/jobs.ts";
import { type CheckedTable, type DueCheck, postponeChecks } from "../../db/records.ts";
import { gatewayPauseMs } from "../jobs/pause_while_gateway_down.ts";
import { FIRST_CHECK_MS, nextCheck } from "./check_times.ts";
import type { RecordDeps } from "./deps.ts";

/** In one transaction; few enough for it to be a short one. */
const BATCH = 500;

/** As many as can be looked at before the next run; the rest is still due then. */
export const MOST_WAITING = 10_000;

export type QueueDeps = Pick<RecordDeps, "database" | "clock" | "jobQueue" | "gateway">;

/** A sweep over records of one kind. */
export interface Sweep {
  table: CheckedTable;
  /** Of the jobs that it queues. */
  task: string;
  /** Those whose time has come, the most overdue first. */
  list(sql: Sql, now: Date, limit: number): Promise<DueCheck[]>;
  job(record: DueCheck, now: Date): NewJob;
}

/**
 * How many looks were queued. Each batch is whole by itself: what a run that dies leaves behind is
 * still due, and the next one goes on there.
 */
export async function queueChecks(deps: QueueDeps, sweep: Sweep): Promise<number> {
  return await queueInBatches(deps, sweep.task, (limit) => queueBatch(deps, sweep, limit));
}

/** For as long as there is room, something to look at, and a gateway that can be asked. */
export async function queueInBatches(
  deps: QueueDeps,
  task: string,
  queueSome: (limit: number) => Promise<DueJob[]>,
): Promise<number> {
  const room = await roomFor(deps, task);
  let queued = 0;
  while (queued < room && gatewayPauseMs(deps) === 0) {
    const limit = Math.min(BATCH, room - queued);
    const jobs = await queueSome(limit);
    for (const job of jobs) deps.jobQueue.enqueue(job);
    queued += jobs.length;
    if (jobs.length < limit) break;
  }
  return queued;
}

/** How many more may wait: with a slow gateway each run would otherwise make a long line longer. */
async function roomFor({ database, clock }: QueueDeps, task: string): Promise<number> {
  const now = new Date(clock());
  const waiting = await database.query(
    (sql) => countDueJobs(sql, task, now, MOST_WAITING),
    "count due jobs",
  );
  return MOST_WAITING - waiting;
}

async function queueBatch(
  { database, clock }: QueueDeps,
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
    const looks = due.map((each) => ({
      ...job(each, now),
      run_at: now,
      rank: isCutOff(each, now) ? JOB_RANKS.awaited : JOB_RANKS.check,
    }));
    return await insertJobs(sql, looks);
  }, `queue checks of ${table}`);
}

/** Whoever was answered is first looked at later than that. Some can be sent again for no longer. */
function isCutOff({ created_at }: DueCheck, now: Date): boolean {
  return now.getTime() - created_at.getTime() < FIRST_CHECK_MS;
}
