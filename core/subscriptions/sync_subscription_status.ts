/** `sync_subscription_status`: queues a look at every subscription that there may be news of. */

import { insertJobs, JOB_RANKS } from "../../db/jobs.ts";
import { listSubscriptionsToCheck } from "../../db/subscriptions.ts";
import { MOST_WAITING, type QueueDeps, queueInBatches } from "../records/queue_checks.ts";
import { CHECK_SUBSCRIPTION_STATUS, checkJob } from "./check_job.ts";
import { AFTERWARDS_MS } from "./gate.ts";

/**
 * How many looks were queued. Those that were looked at the longest ago come first, so that where
 * there are more than can be looked at, the next run goes on with the rest.
 */
export async function syncSubscriptionStatus(deps: QueueDeps): Promise<number> {
  const { database, clock } = deps;
  const now = new Date(clock());
  const list = { endedSince: new Date(now.getTime() - AFTERWARDS_MS), limit: MOST_WAITING };
  // All at once: until somebody has looked at them, they would be listed again.
  let due: Awaited<ReturnType<typeof listSubscriptionsToCheck>> | undefined;
  return await queueInBatches(deps, CHECK_SUBSCRIPTION_STATUS, async (limit) => {
    due ??= await database.query(
      (sql) => listSubscriptionsToCheck(sql, list),
      "list subscriptions to check",
    );
    const looks = due.splice(0, limit)
      .map((each) => ({ ...checkJob(each, now), run_at: now, rank: JOB_RANKS.check }));
    return await database.query((sql) => insertJobs(sql, looks), "queue checks of subscriptions");
  });
}
