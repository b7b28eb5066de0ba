/** Runs jobs: each in one place at a time, a bounded number at once, again when they fail. */

import { codeOf, type Database, UNIQUE_VIOLATION } from "../../db/database.ts";
import { findKindOf, type JobKind } from "../../db/job_queries.ts";
import {
  claimJob,
  handOverJob,
  type HeldJob,
  JOB_RANKS,
  type ReleasedJob,
  releaseJob,
} from "../../db/jobs.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { attempt } from "./attempt.ts";
import { holding } from "./hold.ts";
import { createLine, type Line } from "./line.ts";
import type { Deliver, JobQueue } from "./queue.ts";
import type { Tasks } from "./task.ts";

/**
 * Until it is over nobody else touches the job. With the sweep's minute it makes 90 s until a job whose
 * process was killed is taken up again.
 */
const LEASE_MS = 30_000;

const LIMIT_MS = 90_000;

/** Timers fire a moment early, and clocks differ: no reason to wait for the next sweep. */
const EARLY_MS = 1_000;

export interface WorkerOptions {
  database: Database;
  tasks: Tasks;
  /** Told of jobs that are to be run again. */
  jobQueue: JobQueue;
  clock: Clock;
  log: Log;
  maxRunning: number;
  limitMs?: number;
  leaseMs?: number;
}

export interface Worker {
  /** Runs a job if it is there to be run; resolves when that is over. Never fails. */
  run: Deliver;
  /** Takes nothing more, and waits for what runs, but no longer than told. */
  close(graceMs: number): Promise<void>;
}

export function createWorker(options: WorkerOptions): Worker {
  const { database, jobQueue, clock, log, maxRunning } = options;
  const { limitMs = LIMIT_MS, leaseMs = LEASE_MS } = options;
  const stop = new AbortController();
  // Where a job belongs is soon known, and not held up by any that runs.
  const sorting = createLine(maxRunning, kindOf);
  const line = createLine(maxRunning, run);
  // Sweeps queue looks by the thousand: they have places to themselves, and fewer.
  const looks = createLine(Math.ceil(maxRunning / 2), run);
  const ownLines = new Map<string, Line>();
  for (const [name, { atOnce }] of Object.entries(options.tasks)) {
    if (atOnce !== undefined) ownLines.set(name, createLine(atOnce, run));
  }

  function lineFor({ task, rank }: JobKind): Line {
    return rank === JOB_RANKS.check ? looks : ownLines.get(task) ?? line;
  }

  async function kindOf(jobId: string): Promise<JobKind | null> {
    try {
      return await database.query((sql) => findKindOf(sql, jobId), "find kind of job");
    } catch {
      // The claim will meet the same trouble, and tell.
      return null;
    }
  }

  async function run(jobId: string): Promise<void> {
    try {
      const job = await claim(jobId);
      if (!job) return;
      const attempted = attempt({ ...options, limitMs, stopping: stop.signal }, job);
      await leave(job, await holding({ ...options, leaseMs }, job, attempted));
    } catch (error) {
      // The database is away. Nothing is lost: the job waits, or its lease runs out.
      log.error("job_interrupted", error, { job: jobId });
    }
  }

  async function claim(jobId: string): Promise<HeldJob | null> {
    const now = clock();
    const times = {
      now: new Date(now),
      dueBy: new Date(now + EARLY_MS),
      leaseUntil: new Date(now + leaseMs),
    };
    return await database.query((sql) => claimJob(sql, jobId, times), "claim job");
  }

  async function leave(job: HeldJob, left: ReleasedJob): Promise<void> {
    try {
      const now = new Date(clock());
      const isReleased = await database.query(
        (sql) => releaseJob(sql, job, left, now),
        "leave job",
      );
      if (!isReleased) log.info("job_lease_lost", { job: job.id, task: job.task });
      else if (left.status === "queued") jobQueue.enqueue({ id: job.id, run_at: left.run_at });
    } catch (error) {
      if (codeOf(error) !== UNIQUE_VIOLATION) throw error;
      // Another one of its task and subject was written while it ran: that is its next attempt.
      const now = new Date(clock());
      const heir = await database.query((sql) => handOverJob(sql, job, now), "hand over job");
      if (heir === null) await leave(job, left);
    }
  }

  return {
    async run(jobId, told) {
      const kind = told ?? await sorting.enter(jobId);
      await (kind ? lineFor(kind) : line).enter(jobId);
    },
    async close(graceMs) {
      stop.abort();
      await Promise.all(
        [sorting, line, looks, ...ownLines.values()].map((each) => each.close(graceMs)),
      );
    },
  };
}
