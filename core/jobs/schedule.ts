/**
 * Scheduled work: runs the entries that are due, each tick of an entry on one instance, and sweeps
 * for jobs that no worker has found.
 */

import { waitAtMost } from "../../concurrency/deadlines.ts";
import { claimTick, endTick } from "../../db/jobs/cron_runs.ts";
import { listJobsInOtherLanes } from "../../db/jobs/jobs.ts";
import type { Service } from "../service.ts";
import { nextRun } from "./cron_times.ts";
import { errorText } from "./task.ts";
import type { Worker } from "./worker.ts";

export interface ScheduleEntry {
  name: string;
  /** Five fields, UTC. */
  cron: string;
  /** The return value is stored as JSON until the next tick. */
  run(): Promise<unknown>;
}

const MINUTE_MS = 60_000;

/** A timer can fire a little early; the tick then belongs to the minute that is about to begin. */
const EARLY_MS = 1_000;

/** A cron that still runs is not started again, so it ends before the next minute. */
const MAX_SCHEDULE_MS = 55_000;

export interface Scheduler {
  /**
   * Runs the entries that are due. Call it every minute. An entry that takes longer than a minute
   * continues in the background, and is not started again until it has ended.
   */
  runDue(): Promise<void>;
  /** Resolves when the entries that run now have ended. */
  idle(): Promise<void>;
}

export function createScheduler(
  service: Pick<Service, "database" | "clock" | "log">,
  entries: readonly ScheduleEntry[],
): Scheduler {
  const running = new Map<string, Promise<void>>();
  let last: Date | null = null;

  async function run(entry: ScheduleEntry): Promise<void> {
    const ticking = tick(service, entry);
    running.set(entry.name, ticking);
    await ticking;
    running.delete(entry.name);
  }

  return {
    async runDue() {
      const minute = currentMinute(service.clock());
      // Usually the previous minute; earlier if the timer or the clock skipped a minute.
      const since = last ?? new Date(minute.getTime() - MINUTE_MS);
      last = minute;
      const due = entries.filter(({ name, cron }) =>
        nextRun(cron, since) <= minute && !running.has(name)
      );
      await waitAtMost(MAX_SCHEDULE_MS, Promise.all(due.map(run)));
    },
    idle: async () => void await Promise.all(running.values()),
  };
}

function currentMinute(now: number): Date {
  return new Date(Math.floor((now + EARLY_MS) / MINUTE_MS) * MINUTE_MS);
}

/** Runs an entry, unless another instance has claimed this minute's tick. Never rejects. */
export async function tick(
  { database, clock, log }: Pick<Service, "database" | "clock" | "log">,
  entry: ScheduleEntry,
): Promise<void> {
  const task = entry.name;
  try {
    const now = clock();
    const minute = currentMinute(now);
    const claim = { task, minute, started_at: new Date(now) };
    if (!await database.query((sql) => claimTick(sql, claim), "claim tick")) return;
    const outcome = await outcomeOf(entry);
    if (outcome.failure) log.error("tick_failed", outcome.failure.reason, { task });
    const end = {
      task,
      minute,
      finished_at: new Date(clock()),
      result: JSON.stringify(outcome.value) ?? null,
      error: outcome.failure ? errorText(outcome.failure.reason) : null,
    };
    await database.query((sql) => endTick(sql, end), "end tick");
  } catch (error) {
    log.error("tick_interrupted", error, { task });
  }
}

async function outcomeOf(
  entry: ScheduleEntry,
): Promise<{ value?: unknown; failure?: { reason: unknown } }> {
  try {
    return { value: await entry.run() };
  } catch (reason) {
    return { failure: { reason } };
  }
}

/** A sweep ends before the next one starts, a minute later. */
const MAX_SWEEP_MS = 50_000;

/** How long a job without a worker waits: its worker may be part of a newer version. */
export const OTHER_LANE_MS = 3_600_000;

/**
 * Runs all due jobs, and waits for them. Returns their number. Workers poll, so this matters only
 * on Deno Deploy: it stops idle instances, so there may be no instance that polls. Also runs jobs
 * that no worker has taken for an hour, such as those for a handler that was removed.
 */
export async function sweepJobs(
  { database, clock, worker }: Pick<Service, "database" | "clock"> & { worker: Worker },
): Promise<number> {
  const since = new Date(clock() - OTHER_LANE_MS);
  const others = await database.query(
    (sql) => listJobsInOtherLanes(sql, worker.lanes, since),
    "list jobs in other lanes",
  );
  for (const id of others) await worker.run(id);
  return others.length + await worker.runDue(MAX_SWEEP_MS);
}
