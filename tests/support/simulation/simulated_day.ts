/** A day without notifications: the real schedule runs on clocks that a test advances. */

import assert from "node:assert/strict";
import { type Clock, systemClock } from "../../../core/time/clock.ts";
import { type ScheduleEntry, tick as runEntry } from "../../../core/jobs/schedule.ts";
import { createWorker } from "../../../core/jobs/worker.ts";
import { createSchedule } from "../../../core/tasks/schedule.ts";
import { createTasks } from "../../../core/tasks/tasks.ts";
import type { CronRun } from "../../../db/jobs/cron_runs.ts";
import type { TestApp, TestAppOptions } from "../app.ts";
import { createWaits } from "../gateway/gateway.ts";
import { openSubscriptions, type TestSubscriptions } from "../records/subscriptions.ts";

const [SECOND_MS, MINUTE_MS] = [1_000, 60_000];

export interface SimulatedDay extends TestSubscriptions {
  /** Advances the clocks to the next multiple of `minutes` and runs the entries that are due. */
  tick(minutes?: number): Promise<void>;
  /** Ticks once per minute, this many times. */
  tickMinutes(count: number): Promise<void>;
  /** The result of the last run of each entry. */
  lastRuns(): Promise<Pick<CronRun, "task" | "error">[]>;
}

/** No notification reaches the service, unless `delivery` is set; `sandbox.hooks` records them. */
export async function openSimulatedDay(
  options: Partial<TestAppOptions> = {},
): Promise<SimulatedDay> {
  let clock: Clock = systemClock;
  // The client's circuit breaker uses the simulated clock, too, and its retries are not delayed.
  const gatewayOptions = { wait: createWaits().wait, clock: () => clock() };
  const subscriptions = await openSubscriptions({
    gatewayOptions,
    // On a busy machine a statement may take long, which is not the subject of these tests.
    databaseDeadlineMs: 20_000,
    ...options,
  });
  const { app } = subscriptions;
  clock = app.service.clock;
  const schedule = createTestSchedule(app);
  // The same object, so that a test can set `delivery`.
  const day: SimulatedDay = Object.assign(subscriptions, {
    async tick(minutes = 1) {
      const stepMs = minutes * MINUTE_MS;
      const next = (Math.floor(clock() / stepMs) + 1) * stepMs;
      await subscriptions.advance((next - clock()) / SECOND_MS + 0.5);
      await runDueEntries(app, schedule);
    },
    async tickMinutes(count: number) {
      for (let minute = 0; minute < count; minute++) await day.tick();
    },
    lastRuns: () =>
      app.database.query((sql) =>
        sql<CronRun[]>`select task, error from gateway.cron_runs order by task`
      ),
  });
  return day;
}

/**
 * The schedule of an instance, with its own worker. Without `check_invariants`, which would check
 * the same records in each minute: tests check them at the end.
 */
export function createTestSchedule({ service, handlers }: TestApp): ScheduleEntry[] {
  const tasks = createTasks(service, handlers);
  const worker = createWorker({ ...service, tasks, maxRunning: 8 });
  const schedule = createSchedule({ ...service, worker, stopping: AbortSignal.any([]) });
  return schedule.filter(({ name }) => name !== "check_invariants");
}

/** Runs the entries that are due at the current minute, in order. */
export async function runDueEntries(
  { service }: TestApp,
  schedule: ScheduleEntry[],
): Promise<void> {
  for (const entry of schedule) {
    if (isDue(entry.cron, new Date(service.clock()))) await runEntry(service, entry);
  }
}

/** Supports only the cron syntax that the schedule uses. */
export function isDue(cron: string, time: Date): boolean {
  const now = [
    time.getUTCMinutes(),
    time.getUTCHours(),
    time.getUTCDate(),
    time.getUTCMonth() + 1,
    time.getUTCDay(),
  ];
  const fields = cron.split(" ");
  assert.equal(fields.length, now.length, cron);
  return fields.every((field, index) =>
    field.split(",").some((part) => {
      const [range, step = "1"] = part.split("/");
      assert.ok(range === "*" || /^\d+$/.test(range!), cron);
      return range === "*" ? now[index]! % Number(step) === 0 : now[index] === Number(range);
    })
  );
}
