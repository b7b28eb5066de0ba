/** `readStatus`: how the service stands, for staff. */

import type { CronRun } from "../../db/cron_runs.ts";
import type { Caller } from "../auth/caller.ts";
import { requireStaff } from "../auth/staff.ts";
import type { BreakerState } from "../gateway/circuit_breaker.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { SCHEDULE } from "../schedule.ts";
import { type Numbers, type NumbersDeps, readNumbers } from "./numbers.ts";
import { isOverdue } from "./overdue.ts";

export { MOST_COUNTED } from "../../db/status.ts";

export interface StatusDeps extends NumbersDeps {
  gateway: Pick<GatewayClient, "breakerState">;
}

export interface StatusView {
  started_at: string;
  database: "up";
  gateway: BreakerState;
  jobs: JobsView;
  schedule: TickView[];
  outbox: { waiting_deliveries: number; oldest_event_seconds: number | null };
  webhooks: {
    pending: number;
    oldest_pending_seconds: number | null;
    disabled_endpoints: number;
  };
  notifications: { received: number; oldest_received_seconds: number | null };
  unanswered: { payments: number; invoices: number; subscriptions: number };
}

interface JobsView extends JobCounts {
  oldest_queued_seconds: number | null;
  by_task: ({ task: string } & JobCounts)[];
  last_failures: { id: string; task: string; error: string | null; failed_at: string }[];
}

interface JobCounts {
  queued: number;
  running: number;
  failed: number;
}

interface TickView {
  task: string;
  cron: string;
  status: "never_run" | "running" | "succeeded" | "failed";
  started_at: string | null;
  finished_at: string | null;
  result: unknown;
  error: string | null;
  is_overdue: boolean;
}

/** `startedAt`: when this instance began. */
export async function readStatus(
  deps: StatusDeps,
  caller: Caller,
  startedAt: Date,
): Promise<StatusView> {
  requireStaff(caller);
  const numbers = await readNumbers(deps);
  const now = new Date(deps.clock());
  const { undelivered, unsent, received, unanswered } = numbers;
  return {
    started_at: startedAt.toISOString(),
    // Where it is not, there is no answer but 503.
    database: "up",
    gateway: deps.gateway.breakerState(),
    jobs: viewJobs(numbers, now),
    schedule: SCHEDULE.map(({ name, cron }) => {
      const run = numbers.cronRuns.find(({ task }) => task === name);
      const isLate = isOverdue(cron, run?.started_at ?? startedAt, now);
      return { task: name, cron, ...viewRun(run), is_overdue: isLate };
    }),
    outbox: {
      waiting_deliveries: undelivered.count,
      oldest_event_seconds: secondsSince(undelivered.since, now),
    },
    webhooks: {
      pending: unsent.count,
      oldest_pending_seconds: secondsSince(unsent.since, now),
      disabled_endpoints: numbers.disabledEndpoints,
    },
    notifications: {
      received: received.count,
      oldest_received_seconds: secondsSince(received.since, now),
    },
    unanswered,
  };
}

function viewJobs({ jobs, lastFailures, oldestDue }: Numbers, now: Date): JobsView {
  const byTask = Map.groupBy(jobs, ({ task }) => task);
  return {
    ...sumUp(jobs),
    oldest_queued_seconds: secondsSince(oldestDue, now),
    by_task: [...byTask].map(([task, counts]) => ({ task, ...sumUp(counts) })),
    last_failures: lastFailures.map(({ id, task, error, updated_at }) => ({
      id,
      task,
      error,
      failed_at: updated_at.toISOString(),
    })),
  };
}

function sumUp(counts: Numbers["jobs"]): JobCounts {
  const sums = { queued: 0, running: 0, failed: 0 };
  for (const { status, count } of counts) sums[status] += count;
  return sums;
}

function viewRun(run: CronRun | undefined): Omit<TickView, "task" | "cron" | "is_overdue"> {
  if (!run) {
    const none = { started_at: null, finished_at: null, result: null, error: null };
    return { status: "never_run", ...none };
  }
  const { started_at, finished_at, result, error } = run;
  return {
    status: finished_at === null ? "running" : error === null ? "succeeded" : "failed",
    started_at: started_at.toISOString(),
    finished_at: finished_at?.toISOString() ?? null,
    result,
    error,
  };
}

/** Clocks of instances differ a little: nothing waits for less than no time. */
function secondsSince(time: Date | null, now: Date): number | null {
  return time && Math.max(0, Math.round((now.getTime() - time.getTime()) / 1_000));
}
