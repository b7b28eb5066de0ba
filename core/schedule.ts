/** The schedule: everything that happens by the clock. */

import type { ScheduleEntry } from "./jobs/schedule.ts";
import { sweepJobs } from "./jobs/sweep.ts";
import { checkPendingPayments } from "./payments/check_pending_payments.ts";
import type { TaskDeps } from "./tasks.ts";

export function createSchedule(deps: TaskDeps): ScheduleEntry[] {
  return [
    { name: "sweep_jobs", cron: "* * * * *", run: () => sweepJobs(deps) },
    {
      name: "check_pending_payments",
      cron: "*/5 * * * *",
      run: () => checkPendingPayments(deps),
    },
  ];
}
