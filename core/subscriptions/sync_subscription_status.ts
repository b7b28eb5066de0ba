/** `sync_subscription_status`: queues a look at every subscription that there may be news of. */

import { insertJobs } from "../../db/jobs.ts";
import { listSubscriptionsToCheck } from "../../db/subscriptions.ts";
import type { QueueDeps } from "../records/queue_checks.ts";
import { checkJob } from "./check_job.ts";
import { AFTERWARDS_MS } from "./gate.ts";

/** In one transaction; few enough for it to be a short one. */
const BATCH = 500;

/** How many looks were queued. */
export async function syncSubscriptionStatus(
  { database, clock, carrier }: QueueDeps,
): Promise<number> {
  let queued = 0;
  for (let after: string | null = null;;) {
    const now = new Date(clock());
    const from = after;
    const { last, count, jobs } = await database.transaction(async (sql) => {
      const due = await listSubscriptionsToCheck(sql, {
        after: from,
        endedSince: new Date(now.getTime() - AFTERWARDS_MS),
        limit: BATCH,
      });
      const looks = due.map((each) => ({ ...checkJob(each, now), run_at: now }));
      const jobs = looks.length > 0 ? await insertJobs(sql, looks) : [];
      return { last: due.at(-1)?.id ?? null, count: due.length, jobs };
    }, "queue checks of subscriptions");
    for (const job of jobs) carrier.carry(job);
    queued += jobs.length;
    if (count < BATCH) return queued;
    after = last;
  }
}
