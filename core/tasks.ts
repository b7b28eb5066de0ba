/** The table of tasks: everything that can be done as a job, by name. */

import { createDeliveries } from "./events/deliver.ts";
import type { Tasks } from "./jobs/task.ts";
import {
  createProcessNotification,
  PROCESS_NOTIFICATION,
} from "./notifications/process_notification.ts";
import { CHECK_INVOICE_STATUS } from "./invoices/check_job.ts";
import { createCheckInvoiceStatus } from "./invoices/check_invoice_status.ts";
import type { InvoiceDeps } from "./invoices/deps.ts";
import { CHECK_PAYMENT_STATUS } from "./payments/check_job.ts";
import { createCheckPaymentStatus } from "./payments/check_payment_status.ts";
import { CHECK_SUBSCRIPTION_STATUS } from "./subscriptions/check_job.ts";
import { createCheckSubscriptionStatus } from "./subscriptions/check_subscription_status.ts";

export type TaskDeps = InvoiceDeps;

export function createTasks(deps: TaskDeps): Tasks {
  return {
    [CHECK_PAYMENT_STATUS]: createCheckPaymentStatus(deps),
    [CHECK_INVOICE_STATUS]: createCheckInvoiceStatus(deps),
    [CHECK_SUBSCRIPTION_STATUS]: createCheckSubscriptionStatus(deps),
    [PROCESS_NOTIFICATION]: createProcessNotification(deps),
    ...createDeliveries(deps),
  };
}
