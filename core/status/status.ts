/**
 * `readStatus`: the state of the service. `readSchedule`: only its scheduled tasks, with their next
 * run. Both are for staff and viewers.
 */

import { type CronRun, listCronRuns } from "../../db/jobs/cron_runs.ts";
import type { FoundContradiction } from "../../db/reports/invariants.ts";
import { consoleUrl } from "../attention/check_attention.ts";
import { DOCTOR_PATH, type MissingReason } from "../attention/missing_notifications.ts";
import { type Caller, requireReadAll } from "../auth/caller.ts";
import type { Service } from "../service.ts";
import { type ClockState, isAccurate } from "../time/clock_check.ts";
import type { BreakerState } from "../gateway/circuit_breaker.ts";
import type { AttentionCause } from "../events/attention.ts";
import { minutesBetweenRuns, nextRun } from "../jobs/cron_times.ts";
import type { Load } from "./load.ts";
import { SCHEDULE } from "../tasks/schedule.ts";
import { readWorkload, type Workload } from "./workload.ts";

export { CHECKED_RESOURCES, STATISTICS } from "../../db/reports/invariants.ts";
export { MAX_COUNTED } from "../../db/records/waiting.ts";

export interface StatusView {
  started_at: string;
  database: "up";
  /** The worse of the two following states. */
  gateway: BreakerState;
  gateway_reads: BreakerState;
  gateway_writes: BreakerState;
  leases: "lock" | "time";
  clock: {
    is_accurate: boolean;
    database_offset_seconds: number;
    gateway_offset_seconds: number | null;
  };
  jobs: JobsView;
  schedule: ScheduledTaskView[];
  events: { unpublished: number; oldest_unpublished_seconds: number | null };
  outbox: { waiting_deliveries: number; oldest_event_seconds: number | null };
  webhooks: {
    pending: number;
    oldest_pending_seconds: number | null;
    disabled_endpoints: number;
  };
  notifications: { received: number; oldest_received_seconds: number | null; failed: number };
  unanswered: { payments: number; invoices: number; subscriptions: number };
  ownerless: { paid_payments: number };
  checkouts: Workload["checkouts"];
  load: { event_loop_delay_ms: number; rejected_requests: number };
  unrecognized: {
    payments: number;
    examples: { payment_id: string; gateway_status: string }[];
  };
  contradictions: { count: number; examples: ContradictionView[] };
  missing_notifications: MissingNotificationsView;
  attention: { cause: AttentionCause; since: string }[];
}

export type ContradictionView = Omit<FoundContradiction, "found_at"> & { found_at: string };

export interface MissingNotificationsView {
  is_detected: boolean;
  since: string | null;
  paid_payments: number;
  without_notification: number;
  last_notification_at: string | null;
  likely_reason: MissingReason | null;
  doctor_url: string | null;
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

export interface ScheduledTaskView {
  task: string;
  cron: string;
  status: "never_run" | "running" | "succeeded" | "failed";
  started_at: string | null;
  finished_at: string | null;
  result: unknown;
  error: string | null;
  is_overdue: boolean;
}

/** `startedAt`: when this instance started. */
export async function readStatus(
  service: Service & { load: Load },
  caller: Caller,
  startedAt: Date,
): Promise<StatusView> {
  requireReadAll(caller);
  const workload = await readWorkload(service);
  const now = new Date(service.clock());
  const { unpublished, undelivered, unsent, received, unanswered } = workload;
  return {
    started_at: startedAt.toISOString(),
    // Always "up": if the database is down, reading the workload fails and the response is 503.
    database: "up",
    gateway: service.gateway.breakerState(),
    gateway_reads: service.gateway.breakerState("read"),
    gateway_writes: service.gateway.breakerState("write"),
    leases: service.thisInstance.token() === null ? "time" : "lock",
    clock: viewClock(await service.clockCheck.measure()),
    jobs: viewJobs(workload, now),
    schedule: viewSchedule(workload.cronRuns, startedAt, now),
    events: {
      unpublished: unpublished.count,
      oldest_unpublished_seconds: secondsSince(unpublished.since, now),
    },
    outbox: {
      waiting_deliveries: undelivered.count,
      oldest_event_seconds: secondsSince(undelivered.since, now),
    },
    webhooks: {
      pending: unsent.count,
      oldest_pending_seconds: secondsSince(unsent.since, now),
      disabled_endpoints: workload.disabledEndpoints,
    },
    notifications: {
      received: received.count,
      oldest_received_seconds: secondsSince(received.since, now),
      failed: workload.failedNotifications,
    },
    unanswered,
    ownerless: { paid_payments: workload.ownerless },
    checkouts: workload.checkouts,
    load: {
      event_loop_delay_ms: Math.round(service.load.delayMs()),
      rejected_requests: service.load.rejectedRequests(),
    },
    unrecognized: {
      payments: workload.unrecognized.count,
      examples: workload.unrecognized.examples,
    },
    contradictions: {
      count: workload.contradictions.count,
      examples: workload.contradictions.examples.map((each) => ({
        ...each,
        found_at: each.found_at.toISOString(),
      })),
    },
    missing_notifications: viewMissingNotifications(service, workload),
    attention: workload.attention.map(({ cause, since }) => ({
      cause: cause as AttentionCause,
      since: since.toISOString(),
    })),
  };
}

function viewMissingNotifications(
  service: Service,
  { missingNotifications }: Workload,
): MissingNotificationsView {
  const { areMissing, since, paid, missing, lastNotification, likelyReason } = missingNotifications;
  return {
    is_detected: areMissing,
    since: areMissing ? since?.toISOString() ?? null : null,
    paid_payments: paid,
    without_notification: missing,
    last_notification_at: lastNotification?.toISOString() ?? null,
    likely_reason: areMissing ? likelyReason : null,
    doctor_url: areMissing ? consoleUrl(service, DOCTOR_PATH) : null,
  };
}

/** A scheduled task, and when it runs next. */
export interface PlannedTask extends ScheduledTaskView {
  every_minutes: number;
  next_run_at: string;
}

/** The last and the next run of each scheduled task. */
export async function readSchedule(
  { database, clock }: Service,
  caller: Caller,
  startedAt: Date,
): Promise<PlannedTask[]> {
  requireReadAll(caller);
  const runs = await database.query(listCronRuns, "read schedule");
  const now = new Date(clock());
  return viewSchedule(runs, startedAt, now).map((task) => ({
    ...task,
    every_minutes: minutesBetweenRuns(task.cron),
    next_run_at: nextRun(task.cron, now).toISOString(),
  }));
}

function viewSchedule(runs: CronRun[], startedAt: Date, now: Date): ScheduledTaskView[] {
  return SCHEDULE.map(({ name, cron }) => {
    const run = runs.find(({ task }) => task === name);
    const is_overdue = isOverdue(cron, run?.started_at ?? startedAt, now);
    return { task: name, cron, ...viewRun(run), is_overdue };
  });
}

function viewClock(state: ClockState): StatusView["clock"] {
  const toSeconds = (ms: number) => Math.round(ms / 100) / 10;
  return {
    is_accurate: isAccurate(state),
    database_offset_seconds: toSeconds(state.database),
    gateway_offset_seconds: state.gateway === null ? null : toSeconds(state.gateway),
  };
}

function viewJobs({ jobs, lastFailures, oldestDue }: Workload, now: Date): JobsView {
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

function sumUp(counts: Workload["jobs"]): JobCounts {
  const sums = { queued: 0, running: 0, failed: 0 };
  for (const { status, count } of counts) sums[status] += count;
  return sums;
}

function viewRun(
  run: CronRun | undefined,
): Omit<ScheduledTaskView, "task" | "cron" | "is_overdue"> {
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

/** Never negative, although the clocks of instances differ a little. */
function secondsSince(time: Date | null, now: Date): number | null {
  return time && Math.max(0, Math.round((now.getTime() - time.getTime()) / 1_000));
}

const MINUTE_MS = 60_000;

/** One run may be missed, for example while all instances are replaced. */
const ALLOWED_INTERVALS = 2;

/** `since`: the last start of the task, or the start of the instance if the task has never run. */
export function isOverdue(cron: string, since: Date, now: Date): boolean {
  const allowedMinutes = ALLOWED_INTERVALS * minutesBetweenRuns(cron) + 1;
  return now.getTime() - since.getTime() > allowedMinutes * MINUTE_MS;
}

/** Renamed for callers, who could misread the `closed` of a circuit breaker as an outage. */
const GATEWAY_STATES = { closed: "ok", half_open: "recovering", open: "down" } as const;

export type GatewayState = (typeof GATEWAY_STATES)[BreakerState];

export function gatewayStateOf(breaker: BreakerState): GatewayState {
  return GATEWAY_STATES[breaker];
}
