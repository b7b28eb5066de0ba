/**
 * When scheduled tasks run: cron expressions, in UTC. This file imports nothing, so that the crons
 * can be registered before the service is loaded.
 */

/** By name of the task. The names are stored with each run: do not change them. */
export const SCHEDULE_TIMES = {
  sweep_jobs: "* * * * *",
  serve_endpoints: "* * * * *",
  check_pending_payments: "*/5 * * * *",
  expire_stale_payments: "*/10 * * * *",
  sync_subscription_status: "*/30 * * * *",
  // For due dates, an hourly check would be enough. But an interrupted creation of an invoice can
  // be sent to the gateway again only within five minutes.
  check_overdue_invoices: "*/2 * * * *",
  check_paid_payments: "* * * * *",
  update_stats: "* * * * *",
  prune: "*/10 * * * *",
} as const;

export type ScheduledTask = keyof typeof SCHEDULE_TIMES;
