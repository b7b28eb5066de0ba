/**
 * The worker: claims jobs, runs a bounded number of them at a time, and retries those that fail.
 */

import { withTimeLimit } from "../../concurrency/deadlines.ts";
import { createLane, type Lane } from "../../concurrency/lane.ts";
import { codeOf, type Database, UNIQUE_VIOLATION } from "../../db/database.ts";
import type { LeaseHolder } from "../../db/instance_lock.ts";
import { findKindOf, type JobKind } from "../../db/job_queries.ts";
import {
  claimJob,
  handOverJob,
  type HeldJob,
  JOB_RANKS,
  type ReleasedJob,
  releaseJob,
  renewLease,
} from "../../db/jobs.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { JobQueue } from "../outbox.ts";
import { recordJobRun } from "../telemetry.ts";
import type { RunJob } from "./queue.ts";
import { errorText, findTask, PostponeJob, type Task, type Tasks } from "./task.ts";

/**
 * Short, for instances without a lock (db/instance_lock.ts). If such an instance crashes, its jobs
 * run again when the lease is over and the next sweep has found them, which takes at most 60 s
 * more. The jobs of an instance with a lock run again at once.
 */
const LEASE_MS = 30_000;

const LIMIT_MS = 90_000;

/** Timers fire a little early, and clocks differ: a job that is almost due runs now. */
const EARLY_MS = 1_000;

/**
 * If its workers crash, a job gets this many attempts in addition to its normal ones, and then
 * fails. Without a limit, a job that crashes its workers would run again forever.
 */
const MAX_LOST_WORKERS = 3;

export interface WorkerOptions {
  database: Database;
  tasks: Tasks;
  /** Jobs that are retried or postponed are enqueued here again. */
  jobQueue: JobQueue;
  clock: Clock;
  /** Without it, the leases of this worker end only when their time is over. */
  leaseHolder?: LeaseHolder;
  log: Log;
  /** How many jobs run at a time in a lane without its own limit, for all users together. */
  maxRunning: number;
  /** How many asynchronous requests of callers run at a time; by default `maxRunning`. */
  maxRequests?: number;
  /** An attempt that runs longer fails. */
  limitMs?: number;
  leaseMs?: number;
}

export interface Worker {
  /** Runs a job if it is due and not running elsewhere. */
  run: RunJob;
  /** Accepts no more jobs, and waits for the running ones, at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

type WorkerDeps = WorkerOptions & { limitMs: number; leaseMs: number; stopping: AbortSignal };

export function createWorker(options: WorkerOptions): Worker {
  const { database, tasks, maxRunning, limitMs = LIMIT_MS, leaseMs = LEASE_MS } = options;
  const { maxRequests = maxRunning } = options;
  const stop = new AbortController();
  const deps = { ...options, limitMs, leaseMs, stopping: stop.signal };
  const run = (jobId: string) => runJob(deps, jobId);
  // Finding the kind of a job is quick and must not wait for running jobs.
  const kinds = createLane(maxRunning, (jobId) => findKind(database, jobId));
  // Asynchronous requests have their own lane. So they never delay the jobs that find out what
  // happened to payments, such as those for notifications and for calls with an unknown outcome.
  const requests = createLane(maxRequests, run);
  const recovery = createLane(maxRunning, run);
  // Sweeps enqueue thousands of checks, so these have a smaller lane of their own.
  const checks = createLane(Math.ceil(maxRunning / 2), run);
  const taskLanes = new Map<string, Lane>();
  for (const [name, { concurrency, database = options.database }] of Object.entries(tasks)) {
    if (concurrency === undefined) continue;
    const taskDeps = { ...deps, database };
    taskLanes.set(name, createLane(concurrency, (jobId) => runJob(taskDeps, jobId)));
  }

  function laneFor({ task, rank, turn = 0 }: JobKind): Lane {
    if (rank === JOB_RANKS.check) return checks;
    return taskLanes.get(task) ?? (turn > 0 ? requests : recovery);
  }

  return {
    async run(jobId, knownKind) {
      const kind = knownKind ?? await kinds.enter(jobId);
      await (kind ? laneFor(kind) : recovery).enter(jobId, kind?.user_id ?? undefined);
    },
    async close(graceMs) {
      stop.abort();
      await Promise.all(
        [kinds, requests, recovery, checks, ...taskLanes.values()]
          .map((each) => each.close(graceMs)),
      );
    },
  };
}

async function findKind(database: Database, jobId: string): Promise<JobKind | null> {
  try {
    return await database.query((sql) => findKindOf(sql, jobId), "find kind of job");
  } catch {
    // The claim that follows gets the same error and logs it.
    return null;
  }
}

async function runJob(deps: WorkerDeps, jobId: string): Promise<void> {
  try {
    const job = await claim(deps, jobId);
    if (!job) return;
    await release(deps, job, await withLease(deps, job, runAttempt(deps, job)));
  } catch (error) {
    // The database is unavailable. The job is not lost: it is still queued, or its lease expires.
    deps.log.error("job_interrupted", error, { job: jobId });
  }
}

async function claim(
  { database, clock, leaseMs, leaseHolder }: WorkerDeps,
  jobId: string,
): Promise<HeldJob | null> {
  const now = clock();
  const times = {
    now: new Date(now),
    dueBy: new Date(now + EARLY_MS),
    leaseMs,
    holder: leaseHolder?.token() ?? null,
  };
  return await database.query((sql) => claimJob(sql, jobId, times), "claim job");
}

/** Renews the lease until `work` is over; `job.lease_until` is updated with it. */
async function withLease<T>(deps: WorkerDeps, job: HeldJob, work: Promise<T>): Promise<T> {
  let renewal = Promise.resolve();
  // Two renewals may fail before the lease expires.
  const timer = setInterval(() => renewal = renew(deps, job), deps.leaseMs / 3);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    // `releaseJob` compares `lease_until`, so it must run after the last renewal.
    await renewal;
  }
}

async function renew({ database, log, leaseMs }: WorkerDeps, job: HeldJob): Promise<void> {
  try {
    const renewed = await database.query((sql) => renewLease(sql, job, leaseMs), "renew lease");
    if (renewed) job.lease_until = renewed;
  } catch (error) {
    log.error("job_lease_not_renewed", error, { job: job.id, task: job.task });
  }
}

async function release(deps: WorkerDeps, job: HeldJob, released: ReleasedJob): Promise<void> {
  const { database, jobQueue, clock, log } = deps;
  try {
    const now = new Date(clock());
    const isReleased = await database.query(
      (sql) => releaseJob(sql, job, released, now),
      "release job",
    );
    if (!isReleased) log.info("job_lease_lost", { job: job.id, task: job.task });
    else if (released.status === "queued") {
      jobQueue.enqueue({ id: job.id, run_at: released.run_at });
    }
  } catch (error) {
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error;
    // A job of the same task and subject was queued meanwhile: it becomes the next attempt.
    const now = new Date(clock());
    const successor = await database.query((sql) => handOverJob(sql, job, now), "hand over job");
    if (successor === null) await release(deps, job, released);
  }
}

/** Runs the task once and returns the state in which to leave the job. */
async function runAttempt(deps: WorkerDeps, job: HeldJob): Promise<ReleasedJob> {
  const { tasks, clock, log, limitMs, stopping } = deps;
  const fields = { job: job.id, task: job.task, attempts: job.attempts };
  const startedAt = performance.now();
  const measure = (outcome: string) => {
    const duration = performance.now() - startedAt;
    recordJobRun(duration, { task: job.task, outcome });
    return Math.round(duration);
  };
  const logOutcome = (outcome: string) =>
    log.info("job", { ...fields, outcome, duration_ms: measure(outcome) });

  const task = findTask(tasks, job.task);
  try {
    if (!task) throw new Error(`Unknown task "${job.task}"`);
    if (job.attempts > task.retries + 1 + MAX_LOST_WORKERS) throw new Error(lostWorkers(job));
    // Without a time limit, a few jobs that never end would block all others.
    const value = await withTimeLimit(limitMs, (signal) => task.run(job, { signal, stopping }));
    const result = JSON.stringify(value) ?? null;
    logOutcome("succeeded");
    return { ...job, status: "succeeded", result, error: null };
  } catch (error) {
    if (error instanceof PostponeJob) {
      const duration_ms = measure("postponed");
      const attempts = job.attempts - 1;
      const { until, reason } = error;
      // Not logged: in an outage thousands of jobs are postponed again and again.
      if (reason === null) return requeued(job, until, { attempts });
      log.info("job", { ...fields, outcome: "postponed", error: reason, duration_ms });
      return requeued(job, until, { attempts, error: reason });
    }
    const text = errorText(error);
    const isFinal = task?.isFinal?.(error) ?? false;
    if (!task || isFinal || job.attempts > task.retries) {
      // A rejection is a valid outcome, not an error of the service.
      if (isFinal) logOutcome("refused");
      else log.error("job_failed", error, { ...fields, duration_ms: measure("failed") });
      await task?.onFailed?.(job, text);
      return { ...job, status: "failed", result: null, error: text };
    }
    log.error("job_attempt_failed", error, { ...fields, duration_ms: measure("attempt_failed") });
    const runAt = new Date(clock() + delayAfter(job.attempts, task));
    return requeued(job, runAt, { error: text });
  }
}

/** Keeps the last error: an earlier attempt may have had an effect. */
function lostWorkers({ error }: HeldJob): string {
  const text = "Too many workers that ran this job crashed or lost their lease";
  return error === null ? text : `${text}; last error before that: ${error}`;
}

function delayAfter(attempts: number, { firstDelayMs, longestDelayMs = Infinity }: Task): number {
  return Math.min(firstDelayMs * 2 ** (attempts - 1), longestDelayMs);
}

function requeued(job: HeldJob, runAt: Date, changes: Partial<ReleasedJob>): ReleasedJob {
  return { ...job, ...changes, status: "queued", run_at: runAt, result: null };
}
