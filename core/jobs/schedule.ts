/**
 * Scheduled work: runs the entries that are due, each tick of an entry on one instance, and sweeps
 * for jobs that are due.
 */

import { waitAtMost } from "../../concurrency/deadlines.ts";
import { claimTick, endTick } from "../../db/cron_runs.ts";
import type { Database, Sql } from "../../db/database.ts";
import { type JobKind, listDueJobs, listDueRequests } from "../../db/job_queries.ts";
import { type DueJob, JOB_RANKS } from "../../db/jobs.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { nextRun } from "./cron_times.ts";
import type { RunJob } from "./queue.ts";
import { errorText } from "./task.ts";

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

export interface TickDeps {
  database: Database;
  clock: Clock;
  log: Log;
}

/** A cron that still runs is not started again, so it ends before the next minute. */
const MAX_SCHEDULE_MS = 55_000;

/**
 * Returns a function that runs the entries that are due. Call it every minute. An entry that takes
 * longer than a minute continues in the background, and is not started again until it has ended.
 */
export function createScheduler(
  deps: TickDeps,
  entries: readonly ScheduleEntry[],
): () => Promise<void> {
  const running = new Set<string>();
  let last: Date | null = null;

  async function run(entry: ScheduleEntry): Promise<void> {
    running.add(entry.name);
    await tick(deps, entry);
    running.delete(entry.name);
  }

  return async function runDue() {
    const minute = currentMinute(deps.clock());
    // Usually the previous minute; earlier if the timer or the clock skipped a minute.
    const since = last ?? new Date(minute.getTime() - MINUTE_MS);
    last = minute;
    const due = entries.filter(({ name, cron }) =>
      nextRun(cron, since) <= minute && !running.has(name)
    );
    await waitAtMost(MAX_SCHEDULE_MS, Promise.all(due.map(run)));
  };
}

function currentMinute(now: number): Date {
  return new Date(Math.floor((now + EARLY_MS) / MINUTE_MS) * MINUTE_MS);
}

/** Runs an entry, unless another instance has claimed this minute's tick. Never rejects. */
export async function tick({ database, clock, log }: TickDeps, entry: ScheduleEntry) {
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

/** How many jobs a sweep passes to the worker before it looks for more. */
const BATCH = 500;

/** A sweep ends before the next one starts, a minute later. */
const MAX_SWEEP_MS = 50_000;

export interface SweepDeps {
  database: Database;
  clock: Clock;
  runJob: RunJob;
}

/**
 * Runs jobs that no queue delivered: due jobs, and jobs whose worker is gone. Returns their number.
 * The sweep runs the jobs itself: Deno Deploy stops idle instances, so there may be no other
 * instance to run them. Each rank, and the requests of callers, are swept separately, so that a
 * rank that is slow or fails does not delay the others.
 */
export async function sweepJobs(deps: SweepDeps): Promise<number> {
  const deadline = performance.now() + MAX_SWEEP_MS;
  const lists: ListDue[] = Object.values(JOB_RANKS).map((rank) => (sql, now, limit) =>
    listDueJobs(sql, rank, now, limit)
  );
  const sweeps = [...lists, listDueRequests].map((list) => sweepList(deps, list, deadline));
  await Promise.allSettled(sweeps);
  const counts = await Promise.all(sweeps);
  return counts.reduce((sum, count) => sum + count);
}

type ListDue = (sql: Sql, now: Date, limit: number) => Promise<(DueJob & JobKind)[]>;

async function sweepList(
  { database, clock, runJob }: SweepDeps,
  list: ListDue,
  deadline: number,
): Promise<number> {
  const found = new Set<string>();
  while (performance.now() < deadline) {
    const now = new Date(clock());
    const due = await database.query((sql) => list(sql, now, BATCH), "list due jobs");
    // A job that is still due after its run waits for the next sweep.
    const jobs = due.filter(({ id }) => !found.has(id));
    if (jobs.length === 0) break;
    for (const { id } of jobs) found.add(id);
    const runs = jobs.map(({ id, ...kind }) => runJob(id, kind));
    await waitAtMost(deadline - performance.now(), Promise.all(runs));
    if (due.length < BATCH) break;
  }
  return found.size;
}
