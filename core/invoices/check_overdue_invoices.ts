/** `check_overdue_invoices`: enqueues checks of the invoices that are due for a check. */

import { listDueInvoices } from "../../db/billing/invoices.ts";
import { enqueueChecks } from "../jobs/enqueue_checks.ts";
import { CHECK_INVOICE_STATUS } from "../jobs/task_names.ts";
import type { Service } from "../service.ts";
import { checkInvoiceLaterJob } from "./invoice_record.ts";

/** Returns how many checks were enqueued. */
export async function checkOverdueInvoices(service: Service): Promise<number> {
  return await enqueueChecks(service, {
    table: "invoices",
    task: CHECK_INVOICE_STATUS,
    list: listDueInvoices,
    job: checkInvoiceLaterJob,
  });
}
