/**
 * `check_overdue_invoices`: queues a look at every invoice whose time for one has come, such as when
 * its due date is over.
 */

import { queueChecks, type QueueDeps } from "../records/queue_checks.ts";
import { checkJob } from "./check_job.ts";

/** How many looks were queued. */
export async function checkOverdueInvoices(deps: QueueDeps): Promise<number> {
  return await queueChecks(deps, "invoices", checkJob);
}
