/** The schedule of the service: all tasks that run at fixed times. */

import { checkOverdueInvoices } from "./invoices/check_overdue_invoices.ts";
import type { RunJob } from "./jobs/queue.ts";
import { type ScheduleEntry, sweepJobs } from "./jobs/schedule.ts";
import { checkPaidPayments } from "./payments/check_paid_payments.ts";
import { checkPendingPayments } from "./payments/check_pending_payments.ts";
import { expireStalePayments } from "./payments/expire_stale_payments.ts";
import { prune } from "./prune.ts";
import { updateStats } from "./reports/count_payments.ts";
import { SCHEDULE_TIMES, type ScheduledTask } from "./schedule_times.ts";
import { syncSubscriptionStatus } from "./subscriptions/sync_subscription_status.ts";
import type { TaskDeps } from "./tasks.ts";
import { sweepDeliveries } from "./webhooks/sweep.ts";

export type ScheduleDeps = TaskDeps & { runJob: RunJob };

interface Scheduled extends Omit<ScheduleEntry, "run"> {
  run(deps: ScheduleDeps): Promise<unknown>;
}

const RUN: Record<ScheduledTask, Scheduled["run"]> = {
  sweep_jobs: sweepJobs,
  serve_endpoints: sweepDeliveries,
  check_pending_payments: checkPendingPayments,
  expire_stale_payments: expireStalePayments,
  sync_subscription_status: syncSubscriptionStatus,
  check_overdue_invoices: checkOverdueInvoices,
  check_paid_payments: (deps) => checkPaidPayments(deps),
  update_stats: (deps) => updateStats(deps),
  prune: (deps) => prune(deps),
};

export const SCHEDULE: readonly Scheduled[] = Object.entries(RUN).map(([name, run]) => ({
  name,
  cron: SCHEDULE_TIMES[name as ScheduledTask],
  run,
}));

export function createSchedule(deps: ScheduleDeps): ScheduleEntry[] {
  return SCHEDULE.map(({ name, cron, run }) => ({ name, cron, run: () => run(deps) }));
}
