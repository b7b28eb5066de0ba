/** `check_pending_payments`: queues a look at every payment whose time for one has come. */

import type { DueJob } from "../../db/jobs.ts";
import { insertJobs } from "../../db/jobs.ts";
import { listDueChecks, postponeChecks } from "../../db/payment_checks.ts";
import { checkJob } from "./check_job.ts";
import { nextCheck } from "./check_times.ts";
import type { PaymentDeps } from "./deps.ts";

/** In one transaction; few enough for it to be a short one. */
const BATCH = 500;

/** As many as can be looked at before the next run; the rest is still due then. */
const MOST_BATCHES = 20;

type CheckDeps = Pick<PaymentDeps, "database" | "clock" | "carrier">;

/** How many looks were queued. */
export async function checkPendingPayments(deps: CheckDeps): Promise<number> {
  let queued = 0;
  for (let batch = 0; batch < MOST_BATCHES; batch++) {
    const jobs = await queueBatch(deps);
    for (const job of jobs) deps.carrier.carry(job);
    queued += jobs.length;
    if (jobs.length < BATCH) break;
  }
  return queued;
}

async function queueBatch({ database, clock }: CheckDeps): Promise<DueJob[]> {
  const now = new Date(clock());
  return await database.transaction(async (sql) => {
    const due = await listDueChecks(sql, now, BATCH);
    if (due.length === 0) return [];
    await postponeChecks(
      sql,
      now,
      due.map(({ id, created_at }) => ({ id, check_at: nextCheck(created_at, now) })),
    );
    return await insertJobs(
      sql,
      due.map((payment) => ({ ...checkJob(payment, now), run_at: now })),
    );
  }, "queue payment checks");
}
