/** `check_overdue_invoices`: enqueues a check of each invoice that is due for one. */

import { listDueInvoices } from "../../db/invoices.ts";
import { queueChecks, type QueueDeps } from "../jobs/queue_checks.ts";
import { CHECK_INVOICE_STATUS } from "../jobs/task_names.ts";
import { checkInvoiceLaterJob } from "./invoice_record.ts";

/** Returns how many checks were enqueued. */
export async function checkOverdueInvoices(deps: QueueDeps): Promise<number> {
  return await queueChecks(deps, {
    table: "invoices",
    task: CHECK_INVOICE_STATUS,
    list: listDueInvoices,
    job: checkInvoiceLaterJob,
  });
}
