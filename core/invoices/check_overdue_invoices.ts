/**
 * `check_overdue_invoices`: queues a look at every invoice whose time for one has come, such as when
 * its due date is over.
 */

import { listDueInvoices } from "../../db/invoices.ts";
import { queueChecks, type QueueDeps } from "../records/queue_checks.ts";
import { CHECK_INVOICE_STATUS, checkJob } from "./check_job.ts";

/** How many looks were queued. */
export async function checkOverdueInvoices(deps: QueueDeps): Promise<number> {
  return await queueChecks(deps, {
    table: "invoices",
    task: CHECK_INVOICE_STATUS,
    list: listDueInvoices,
    job: checkJob,
  });
}
