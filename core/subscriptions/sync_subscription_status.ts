/** `sync_subscription_status`: enqueues a check of each subscription that may have changed. */

import { insertJobs, LANES } from "../../db/jobs/jobs.ts";
import { listSubscriptionsToCheck } from "../../db/billing/subscriptions.ts";
import { enqueueInBatches, MAX_WAITING } from "../jobs/enqueue_checks.ts";
import { CHECK_SUBSCRIPTION_STATUS } from "../jobs/task_names.ts";
import type { Service } from "../service.ts";
import { CHECKED_AFTER_STOP_MS } from "./apply_report.ts";
import { checkSubscriptionJob } from "./subscription_record.ts";

/**
 * Returns how many checks were enqueued. Subscriptions whose last check is oldest come first, so
 * that the next run continues with the others if there are too many for one run.
 */
export async function syncSubscriptionStatus(service: Service): Promise<number> {
  const { database, clock } = service;
  const now = new Date(clock());
  const list = {
    stoppedSince: new Date(now.getTime() - CHECKED_AFTER_STOP_MS),
    limit: MAX_WAITING,
  };
  // Listed once: until the subscriptions are checked, each listing would return the same ones.
  let due: Awaited<ReturnType<typeof listSubscriptionsToCheck>> | undefined;
  return await enqueueInBatches(service, CHECK_SUBSCRIPTION_STATUS, async (limit) => {
    due ??= await database.query(
      (sql) => listSubscriptionsToCheck(sql, list),
      "list subscriptions to check",
    );
    const checks = due.splice(0, limit)
      .map((each) => ({ ...checkSubscriptionJob(each, now), run_at: now, lane: LANES.checks }));
    return await database.query((sql) => insertJobs(sql, checks), "queue checks of subscriptions");
  });
}
