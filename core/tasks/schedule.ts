/** The schedule of the service: all tasks that run at fixed times. */

import { checkAttention } from "../attention/check_attention.ts";
import { checkCheckouts } from "../checkouts/settle_checkout.ts";
import { checkOverdueInvoices } from "../invoices/check_overdue_invoices.ts";
import { type ScheduleEntry, sweepJobs } from "../jobs/schedule.ts";
import { checkPaidPayments } from "../payments/check_paid_payments.ts";
import { checkPendingPayments } from "../payments/check_pending_payments.ts";
import { expireStalePayments } from "../payments/expire_stale_payments.ts";
import type { Service } from "../service.ts";
import { checkInvariants } from "./check_invariants.ts";
import { prune } from "./prune.ts";
import { updateStats } from "../reports/count_payments.ts";
import { syncSubscriptionStatus } from "../subscriptions/sync_subscription_status.ts";
import type { Worker } from "../jobs/worker.ts";
import { sweepDeliveries } from "../webhooks/sweep.ts";

export interface ScheduledService extends Service {
  /** Sweeps for its jobs. */
  worker: Worker;
  /** Aborted at shutdown: tasks that take long then end early, and the next run continues. */
  stopping: AbortSignal;
}

interface Scheduled extends Omit<ScheduleEntry, "run"> {
  run(service: ScheduledService): Promise<unknown>;
}

/** Cron expressions in UTC. The names are stored with each run: do not change them. */
export const SCHEDULE: readonly Scheduled[] = [
  { name: "sweep_jobs", cron: "* * * * *", run: sweepJobs },
  { name: "serve_endpoints", cron: "* * * * *", run: sweepDeliveries },
  { name: "check_pending_payments", cron: "*/5 * * * *", run: checkPendingPayments },
  { name: "expire_stale_payments", cron: "*/10 * * * *", run: expireStalePayments },
  { name: "sync_subscription_status", cron: "*/30 * * * *", run: syncSubscriptionStatus },
  // For due dates, an hourly check would be enough. But an interrupted creation of an invoice can
  // be sent to the gateway again only within five minutes.
  { name: "check_overdue_invoices", cron: "*/2 * * * *", run: checkOverdueInvoices },
  { name: "check_checkouts", cron: "* * * * *", run: checkCheckouts },
  { name: "check_paid_payments", cron: "* * * * *", run: checkPaidPayments },
  { name: "update_stats", cron: "* * * * *", run: updateStats },
  { name: "check_invariants", cron: "* * * * *", run: (service) => checkInvariants(service) },
  { name: "check_attention", cron: "* * * * *", run: checkAttention },
  { name: "prune", cron: "*/10 * * * *", run: (service) => prune(service) },
];

export function createSchedule(service: ScheduledService): ScheduleEntry[] {
  return SCHEDULE.map(({ name, cron, run }) => ({ name, cron, run: () => run(service) }));
}
