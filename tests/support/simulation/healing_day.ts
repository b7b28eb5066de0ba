/** A day without notifications: the real schedule, on clocks that a test moves. */

import assert from "node:assert/strict";
import { type Clock, systemClock } from "../../../core/clock.ts";
import { type ScheduleEntry, tick } from "../../../core/jobs/schedule.ts";
import { createWorker } from "../../../core/jobs/worker.ts";
import { createSchedule } from "../../../core/schedule.ts";
import { createTasks } from "../../../core/tasks.ts";
import type { CronRun } from "../../../db/cron_runs.ts";
import type { TestApp, TestAppOptions } from "../app.ts";
import { createWaits } from "../gateway/gateway.ts";
import { openSubscriptions, type TestSubscriptions } from "../records/subscriptions.ts";

const [SECOND_MS, MINUTE_MS] = [1_000, 60_000];

export interface Day extends TestSubscriptions {
  /** Moves to the next minute, or the next multiple, and runs the entries that are due. */
  step(minutes?: number): Promise<void>;
  /** Moves on minute by minute. */
  minutes(count: number): Promise<void>;
  /** The result of the last run of each entry. */
  runs(): Promise<Pick<CronRun, "task" | "error">[]>;
}

/** All notifications are lost; their content is in `sandbox.hooks`. */
export async function openDay(options: Partial<TestAppOptions> = {}): Promise<Day> {
  let clock: Clock = systemClock;
  // The circuit breaker and the pauses of the client use the day's clock, too.
  const gatewayOptions = { wait: createWaits().wait, clock: () => clock() };
  const world = await openSubscriptions({ gatewayOptions, ...options });
  const { app } = world;
  clock = app.deps.clock;
  const schedule = scheduleOf(app);
  const day: Day = {
    ...world,
    async step(minutes = 1) {
      const stepMs = minutes * MINUTE_MS;
      const next = (Math.floor(clock() / stepMs) + 1) * stepMs;
      await world.advance((next - clock()) / SECOND_MS + 0.5);
      await runDue(app, schedule);
    },
    async minutes(count) {
      for (let minute = 0; minute < count; minute++) await day.step();
    },
    runs: () =>
      app.database.query((sql) =>
        sql<CronRun[]>`select task, error from gateway.cron_runs order by task`
      ),
  };
  return day;
}

/** The schedule of an instance, with its own worker. */
export function scheduleOf({ deps }: TestApp): ScheduleEntry[] {
  const worker = createWorker({ ...deps, tasks: createTasks(deps), maxRunning: 8 });
  return createSchedule({ ...deps, runJob: worker.run });
}

/** Runs the entries that are due at this minute, in order. */
export async function runDue({ deps }: TestApp, schedule: ScheduleEntry[]): Promise<void> {
  for (const entry of schedule) {
    if (isDue(entry.cron, new Date(deps.clock()))) await tick(deps, entry);
  }
}

/** The part of the cron syntax of `Deno.cron` that the schedule uses. */
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
