/** `sync_subscription_status`: queues a look at every subscription that there may be news of. */

import { insertJobs } from "../../db/jobs.ts";
import { listSubscriptionsToCheck } from "../../db/subscriptions.ts";
import { restMs } from "../jobs/gently.ts";
import { type QueueDeps, roomFor } from "../records/queue_checks.ts";
import { CHECK_SUBSCRIPTION_STATUS, checkJob } from "./check_job.ts";
import { AFTERWARDS_MS } from "./gate.ts";

/** In one statement; few enough for it to be a short one. */
const BATCH = 500;

/**
 * How many looks were queued. Those that were looked at the longest ago come first, so that where
 * there are more than can be looked at, the next run goes on with the rest.
 */
export async function syncSubscriptionStatus(deps: QueueDeps): Promise<number> {
  const { database, clock, carrier } = deps;
  if (restMs(deps) > 0) return 0;
  const limit = await roomFor(deps, CHECK_SUBSCRIPTION_STATUS);
  const now = new Date(clock());
  const endedSince = new Date(now.getTime() - AFTERWARDS_MS);
  const due = await database.query(
    (sql) => listSubscriptionsToCheck(sql, { endedSince, limit }),
    "list subscriptions to check",
  );
  let queued = 0;
  while (queued < due.length && restMs(deps) === 0) {
    const looks = due.slice(queued, queued + BATCH)
      .map((each) => ({ ...checkJob(each, now), run_at: now }));
    const jobs = await database.query(
      (sql) => insertJobs(sql, looks),
      "queue checks of subscriptions",
    );
    for (const job of jobs) carrier.carry(job);
    queued += looks.length;
  }
  return queued;
}
