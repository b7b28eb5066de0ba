/** `check_overdue_invoices`: enqueues checks of the invoices that are due for a check. */

import { listDueInvoices } from "../../db/billing/invoices.ts";
import { enqueueChecks, type EnqueueDeps } from "../jobs/enqueue_checks.ts";
import { CHECK_INVOICE_STATUS } from "../jobs/task_names.ts";
import { checkInvoiceLaterJob } from "./invoice_record.ts";

/** Returns how many checks were enqueued. */
export async function checkOverdueInvoices(deps: EnqueueDeps): Promise<number> {
  return await enqueueChecks(deps, {
    table: "invoices",
    task: CHECK_INVOICE_STATUS,
    list: listDueInvoices,
    job: checkInvoiceLaterJob,
  });
}
