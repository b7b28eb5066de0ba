/** Queues a look at every record whose time for one has come. */

import { type DueJob, insertJobs, type NewJob } from "../../db/jobs.ts";
import {
  type CheckedTable,
  type DueCheck,
  listDueChecks,
  postponeChecks,
} from "../../db/record_checks.ts";
import { nextCheck } from "./check_times.ts";
import type { RecordDeps } from "./deps.ts";

/** In one transaction; few enough for it to be a short one. */
const BATCH = 500;

/** As many as can be looked at before the next run; the rest is still due then. */
const MOST_BATCHES = 20;

export type QueueDeps = Pick<RecordDeps, "database" | "clock" | "carrier">;

/** How many looks were queued. */
export async function queueChecks(
  deps: QueueDeps,
  table: CheckedTable,
  checkJob: (record: DueCheck, now: Date) => NewJob,
): Promise<number> {
  let queued = 0;
  for (let batch = 0; batch < MOST_BATCHES; batch++) {
    const jobs = await queueBatch(deps, table, checkJob);
    for (const job of jobs) deps.carrier.carry(job);
    queued += jobs.length;
    if (jobs.length < BATCH) break;
  }
  return queued;
}

async function queueBatch(
  { database, clock }: QueueDeps,
  table: CheckedTable,
  checkJob: (record: DueCheck, now: Date) => NewJob,
): Promise<DueJob[]> {
  const now = new Date(clock());
  return await database.transaction(async (sql) => {
    const due = await listDueChecks(sql, table, now, BATCH);
    if (due.length === 0) return [];
    const next = due.map(({ id, created_at }) => ({ id, check_at: nextCheck(created_at, now) }));
    await postponeChecks(sql, table, now, next);
    return await insertJobs(sql, due.map((each) => ({ ...checkJob(each, now), run_at: now })));
  }, `queue checks of ${table}`);
}
