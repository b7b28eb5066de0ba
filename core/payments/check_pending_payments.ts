/** `check_pending_payments`: queues a look at every payment whose time for one has come. */

import { queueChecks, type QueueDeps } from "../records/queue_checks.ts";
import { checkJob } from "./check_job.ts";

/** How many looks were queued. */
export async function checkPendingPayments(deps: QueueDeps): Promise<number> {
  return await queueChecks(deps, "payments", checkJob);
}
