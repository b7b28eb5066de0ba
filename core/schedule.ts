/** The schedule: everything that happens by the clock. */

import type { Deliver } from "./jobs/queue.ts";
import type { ScheduleEntry } from "./jobs/schedule.ts";
import { sweepJobs } from "./jobs/sweep.ts";
import { checkOverdueInvoices } from "./invoices/check_overdue_invoices.ts";
import { checkPendingPayments } from "./payments/check_pending_payments.ts";
import { expireStalePayments } from "./payments/expire_stale_payments.ts";
import { prune } from "./prune.ts";
import { syncSubscriptionStatus } from "./subscriptions/sync_subscription_status.ts";
import type { TaskDeps } from "./tasks.ts";
import { serveEndpoints } from "./webhooks/serve_endpoints.ts";

export type ScheduleDeps = TaskDeps & { deliver: Deliver };

interface Scheduled extends Omit<ScheduleEntry, "run"> {
  run(deps: ScheduleDeps): Promise<unknown>;
}

export const SCHEDULE: readonly Scheduled[] = [
  { name: "sweep_jobs", cron: "* * * * *", run: sweepJobs },
  { name: "serve_endpoints", cron: "* * * * *", run: serveEndpoints },
  { name: "check_pending_payments", cron: "*/5 * * * *", run: checkPendingPayments },
  { name: "expire_stale_payments", cron: "*/10 * * * *", run: expireStalePayments },
  { name: "sync_subscription_status", cron: "*/30 * * * *", run: syncSubscriptionStatus },
  // Hourly would do for their dates, but one whose creation was cut short can be sent again for five
  // minutes only.
  { name: "check_overdue_invoices", cron: "*/2 * * * *", run: checkOverdueInvoices },
  { name: "prune", cron: "*/10 * * * *", run: (deps) => prune(deps) },
];

export function createSchedule(deps: ScheduleDeps): ScheduleEntry[] {
  return SCHEDULE.map(({ name, cron, run }) => ({ name, cron, run: () => run(deps) }));
}
