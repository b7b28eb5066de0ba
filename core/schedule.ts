/** The schedule: everything that happens by the clock. */

import type { ScheduleEntry } from "./jobs/schedule.ts";
import { sweepJobs } from "./jobs/sweep.ts";
import { checkOverdueInvoices } from "./invoices/check_overdue_invoices.ts";
import { checkPendingPayments } from "./payments/check_pending_payments.ts";
import { syncSubscriptionStatus } from "./subscriptions/sync_subscription_status.ts";
import type { TaskDeps } from "./tasks.ts";

export function createSchedule(deps: TaskDeps): ScheduleEntry[] {
  return [
    { name: "sweep_jobs", cron: "* * * * *", run: () => sweepJobs(deps) },
    {
      name: "check_pending_payments",
      cron: "*/5 * * * *",
      run: () => checkPendingPayments(deps),
    },
    {
      name: "sync_subscription_status",
      cron: "*/30 * * * *",
      run: () => syncSubscriptionStatus(deps),
    },
    // Hourly would do for their dates, but one whose creation was cut short can be sent again for five
    // minutes only.
    { name: "check_overdue_invoices", cron: "*/2 * * * *", run: () => checkOverdueInvoices(deps) },
  ];
}
