/** The worker: claims due jobs, a limited number of each lane, runs them, and retries failures. */

import { waitAtMost, withTimeLimit } from "../../concurrency/deadlines.ts";
import { codeOf, type Database, UNIQUE_VIOLATION } from "../../db/connection/database.ts";
import { NO_LOCK, type ThisInstance } from "../../db/connection/instance_lock.ts";
import {
  type Claim,
  claimAbandonedJobs,
  claimDueJobs,
  type ClaimedJob,
  claimJob,
  type FreePlaces,
  giveTurns,
  handOverJob,
  type ReleasedJob,
  releaseJob,
  renewLease,
} from "../../db/jobs/claims.ts";
import { LANES } from "../../db/jobs/jobs.ts";
import type { JobQueue } from "../service.ts";
import type { Clock } from "../time/clock.ts";
import type { Log } from "../telemetry/log.ts";
import { recordJobRun } from "../telemetry/telemetry.ts";
import { errorText, findTask, PostponeJob, type Task, type Tasks } from "./task.ts";

/**
 * Short, for instances without a lock (`instance_lock.ts`). If such an instance crashes, its jobs
 * run again when the lease is over. The jobs of an instance with a lock run again at once.
 */
const LEASE_MS = 30_000;

const LIMIT_MS = 90_000;

/** Finds jobs that have become due, that are abandoned, or about which a message was lost. */
const POLL_MS = 1_000;

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
  thisInstance?: ThisInstance;
  log: Log;
  /** How many jobs run at a time in the lane `recovery`; in the lane `checks`, half as many. */
  maxRunning: number;
  /** How many asynchronous requests of callers run at a time; by default `maxRunning`. */
  maxRequests?: number;
  /** An attempt that runs longer fails. */
  limitMs?: number;
  leaseMs?: number;
}

export interface Worker {
  /** Runs due jobs from now on: at once, when it is woken, and every second. */
  start(): void;
  /** Claims due jobs soon. Resolves with whether a lane is full afterwards; never rejects. */
  wake(): Promise<boolean>;
  /** The lanes whose jobs it runs. */
  lanes: readonly string[];
  /**
   * Runs the jobs that are due or abandoned, and waits for them at most `limitMs`. Returns how many
   * jobs were started meanwhile.
   */
  runDue(limitMs: number): Promise<number>;
  /** Runs this job, if it is due and not running elsewhere. Does not wait for a free place. */
  run(jobId: string): Promise<void>;
  /** Claims no more jobs, and waits for the claimed ones, at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** With the defaults of options that are missing. */
type WorkerSettings = WorkerOptions & { limitMs: number; leaseMs: number; stopping: AbortSignal };

interface Lane {
  places: number;
  running: number;
  /** The last claim filled all places, so further jobs may be due. */
  mayHaveMore: boolean;
  /** For the statements about its jobs. */
  database: Database;
}

interface WorkerState {
  settings: WorkerSettings;
  lanes: Map<string, Lane>;
  running: Set<Promise<void>>;
  /** How many jobs were started. */
  started: number;
  /** Claims run one at a time: jobs that become due meanwhile are claimed together afterwards. */
  claiming: Promise<unknown>;
  /** The claim that was asked for and has not begun. */
  nextClaim: Promise<boolean> | null;
  isPollDue: boolean;
  isInterrupted: boolean;
}

export function createWorker(options: WorkerOptions): Worker {
  const { limitMs = LIMIT_MS, leaseMs = LEASE_MS } = options;
  const stop = new AbortController();
  const settings = { ...options, limitMs, leaseMs, stopping: stop.signal };
  const worker: WorkerState = {
    settings,
    lanes: createLanes(options),
    running: new Set(),
    started: 0,
    claiming: Promise.resolve(),
    nextClaim: null,
    isPollDue: false,
    isInterrupted: false,
  };
  let timer: ReturnType<typeof setInterval> | undefined;
  const startPoll = () => {
    worker.isPollDue = true;
    wake(worker);
  };
  return {
    start() {
      timer = setInterval(startPoll, POLL_MS);
      startPoll();
    },
    wake: () => wake(worker),
    lanes: [...worker.lanes.keys()],
    runDue: (limitMs) => runDue(worker, limitMs),
    async run(jobId) {
      const job = stop.signal.aborted ? null : await claimOne(settings, jobId);
      if (job) await startJob(worker, job);
    },
    async close(graceMs) {
      stop.abort();
      clearInterval(timer);
      await waitAtMost(graceMs, worker.claiming.then(() => Promise.all(worker.running)));
    },
  };
}

function wake(worker: WorkerState): Promise<boolean> {
  if (!worker.nextClaim) {
    worker.claiming = worker.nextClaim = worker.claiming.then(() => claimNext(worker));
  }
  return worker.nextClaim;
}

/** Resolves with whether a lane is full afterwards; never rejects. */
async function claimNext(worker: WorkerState): Promise<boolean> {
  const { stopping, log } = worker.settings;
  worker.nextClaim = null;
  const isPoll = worker.isPollDue;
  worker.isPollDue = false;
  try {
    if (stopping.aborted) return false;
    await (isPoll ? poll(worker) : claimAndStart(worker, claimDueJobs));
    worker.isInterrupted = false;
  } catch (error) {
    // The database is unavailable. No job is lost: jobs are rows in the database.
    if (!worker.isInterrupted && !stopping.aborted) log.error("queue_interrupted", error);
    worker.isInterrupted = true;
    return false;
  }
  const lanes = [...worker.lanes.values()];
  // Places can have become free during the claim.
  if (lanes.some((lane) => lane.mayHaveMore && lane.running < lane.places)) wake(worker);
  return lanes.some((lane) => lane.running >= lane.places);
}

async function poll(worker: WorkerState): Promise<void> {
  const { database, clock } = worker.settings;
  const now = new Date(clock());
  await claimAndStart(worker, claimAbandonedJobs);
  const { isDone } = await database.query((sql) => giveTurns(sql, now), "give turns");
  if (!isDone) worker.isPollDue = true;
  await claimAndStart(worker, claimDueJobs);
}

/** Claims and starts as many jobs as there are free places. */
async function claimAndStart(worker: WorkerState, claim: typeof claimDueJobs): Promise<void> {
  const { settings, lanes } = worker;
  const free = freePlaces(lanes);
  if (free.length === 0 || settings.stopping.aborted) return;
  const jobs = await settings.database.query(
    (sql) => claim(sql, free, newClaim(settings)),
    "claim jobs",
  );
  for (const { lane, count } of free) {
    const claimed = jobs.filter((job) => job.lane === lane).length;
    lanes.get(lane)!.mayHaveMore = claimed === count;
  }
  const inOrder = jobs.toSorted((a, b) => a.run_at.getTime() - b.run_at.getTime());
  for (const job of inOrder) startJob(worker, job);
}

function startJob(worker: WorkerState, job: ClaimedJob): Promise<void> {
  const { settings, lanes, running } = worker;
  const lane = lanes.get(job.lane) ?? lanes.get(LANES.recovery)!;
  worker.started++;
  lane.running++;
  const run = runClaimedJob({ ...settings, database: lane.database }, job).then(() => {
    running.delete(run);
    lane.running--;
    if (lane.mayHaveMore) wake(worker);
  });
  running.add(run);
  return run;
}

async function runDue(worker: WorkerState, limitMs: number): Promise<number> {
  const deadline = performance.now() + limitMs;
  const startedBefore = worker.started;
  const polled = worker.claiming.then(() => poll(worker));
  worker.claiming = polled.catch(() => {});
  await polled;
  while (performance.now() < deadline) {
    const lastClaim = worker.claiming;
    await lastClaim;
    if (worker.running.size > 0) {
      await waitAtMost(deadline - performance.now(), Promise.race(worker.running));
    } else if (worker.claiming === lastClaim) break;
  }
  return worker.started - startedBefore;
}

function createLanes(options: WorkerOptions): Map<string, Lane> {
  const { database, tasks, maxRunning, maxRequests = maxRunning } = options;
  const lane = (places: number, laneDatabase = database): Lane => ({
    places,
    running: 0,
    mayHaveMore: false,
    database: laneDatabase,
  });
  const lanes = new Map([
    [LANES.requests as string, lane(maxRequests)],
    [LANES.recovery, lane(maxRunning)],
    [LANES.checks, lane(Math.ceil(maxRunning / 2))],
  ]);
  for (const [name, { concurrency, database }] of Object.entries(tasks)) {
    if (concurrency !== undefined) lanes.set(name, lane(concurrency, database));
  }
  return lanes;
}

function freePlaces(lanes: Map<string, Lane>): FreePlaces[] {
  return [...lanes].flatMap(([lane, { places, running }]) =>
    running < places ? [{ lane, count: places - running }] : []
  );
}

function newClaim({ clock, leaseMs, thisInstance = NO_LOCK }: WorkerSettings): Claim {
  return { now: new Date(clock()), leaseMs, thisInstance };
}

async function claimOne(settings: WorkerSettings, jobId: string): Promise<ClaimedJob | null> {
  try {
    return await settings.database.query(
      (sql) => claimJob(sql, jobId, newClaim(settings)),
      "claim job",
    );
  } catch (error) {
    settings.log.error("job_interrupted", error, { job: jobId });
    return null;
  }
}

/** Runs a claimed job; never rejects. */
async function runClaimedJob(settings: WorkerSettings, job: ClaimedJob): Promise<void> {
  try {
    await release(settings, job, await withLease(settings, job, runAttempt(settings, job)));
  } catch (error) {
    // The database is unavailable. The job is not lost: its lease expires.
    settings.log.error("job_interrupted", error, { job: job.id });
  }
}

/** Renews the lease until `work` is over. */
async function withLease<T>(
  settings: WorkerSettings,
  job: ClaimedJob,
  work: Promise<T>,
): Promise<T> {
  // Two renewals may fail before the lease expires.
  const timer = setInterval(() => renew(settings, job), settings.leaseMs / 3);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

async function renew({ database, log, leaseMs }: WorkerSettings, job: ClaimedJob): Promise<void> {
  try {
    await database.query((sql) => renewLease(sql, job, leaseMs), "renew lease");
  } catch (error) {
    log.error("job_lease_not_renewed", error, { job: job.id, task: job.task });
  }
}

async function release(
  settings: WorkerSettings,
  job: ClaimedJob,
  released: ReleasedJob,
): Promise<void> {
  const { database, jobQueue, clock, log } = settings;
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
    if (successor === null) await release(settings, job, released);
  }
}

/** Runs the task once and returns the state in which to leave the job. */
async function runAttempt(settings: WorkerSettings, job: ClaimedJob): Promise<ReleasedJob> {
  const { tasks, clock, log, limitMs, stopping } = settings;
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
function lostWorkers({ error }: ClaimedJob): string {
  const text = "Too many workers that ran this job crashed or lost their lease";
  return error === null ? text : `${text}; last error before that: ${error}`;
}

function delayAfter(attempts: number, { firstDelayMs, longestDelayMs = Infinity }: Task): number {
  return Math.min(firstDelayMs * 2 ** (attempts - 1), longestDelayMs);
}

function requeued(job: ClaimedJob, runAt: Date, changes: Partial<ReleasedJob>): ReleasedJob {
  return { ...job, ...changes, status: "queued", run_at: runAt, result: null };
}
