/** `check_pending_payments`: queues a look at every payment whose time for one has come. */

import { insertJobs } from "../../db/jobs.ts";
import { listDueChecks, postponeChecks } from "../../db/payments.ts";
import { checkJob } from "./check_job.ts";
import { nextCheck } from "./check_times.ts";
import type { PaymentDeps } from "./deps.ts";

/** As many in one go as are looked at before the next; the rest is still due then. */
const MAX_AT_ONCE = 500;

/** How many looks were queued. */
export async function checkPendingPayments(
  { database, clock, carrier }: Pick<PaymentDeps, "database" | "clock" | "carrier">,
): Promise<number> {
  const now = new Date(clock());
  const jobs = await database.transaction(async (sql) => {
    const due = await listDueChecks(sql, { now, limit: MAX_AT_ONCE });
    if (due.length === 0) return [];
    await postponeChecks(
      sql,
      due.map(({ id, created_at }) => ({ id, check_at: nextCheck(created_at, now) })),
    );
    return await insertJobs(
      sql,
      due.map((payment) => ({ ...checkJob(payment, now), run_at: now })),
    );
  }, "queue payment checks");
  for (const job of jobs) carrier.carry(job);
  return jobs.length;
}
