/** One attempt at a job: what its task made of it, and how the job is to be left after that. */

import type { HeldJob, ReleasedJob } from "../../db/jobs.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { recordJobRun } from "../telemetry.ts";
import { errorText } from "./error_text.ts";
import { findTask, PostponeJob, type Task, type Tasks } from "./task.ts";
import { withTimeLimit } from "./time_limit.ts";

/** A job whose workers never come back may be what ends them, and must not do so for ever. */
const MOST_LOST_WORKERS = 3;

export interface AttemptDeps {
  tasks: Tasks;
  clock: Clock;
  log: Log;
  /** A job that takes longer has failed. */
  limitMs: number;
  stopping: AbortSignal;
}

export async function attempt(deps: AttemptDeps, job: HeldJob): Promise<ReleasedJob> {
  const { tasks, log, stopping } = deps;
  const about = { job: job.id, task: job.task, attempts: job.attempts };
  const began = performance.now();
  const measure = (outcome: string) => {
    const duration = performance.now() - began;
    recordJobRun(duration, { task: job.task, outcome });
    return Math.round(duration);
  };
  const tell = (outcome: string) =>
    log.info("job", { ...about, outcome, duration_ms: measure(outcome) });

  const task = findTask(tasks, job.task);
  try {
    if (!task) throw new Error(`There is no task "${job.task}"`);
    if (job.attempts > task.retries + 1 + MOST_LOST_WORKERS) {
      throw new Error(neverCameBack(job));
    }
    // With a few that do not end, no other would ever get its turn.
    const value = await withTimeLimit(
      deps.limitMs,
      (signal) => task.run(job, { signal, stopping }),
    );
    const result = JSON.stringify(value) ?? null;
    tell("succeeded");
    return { ...job, status: "succeeded", result, error: null };
  } catch (error) {
    if (error instanceof PostponeJob) {
      // In an outage thousands are, time and again: too many for a line each.
      measure("put_off");
      return queuedAgain(job, error.until, { attempts: job.attempts - 1 });
    }
    const text = errorText(error);
    const isFinal = task?.isFinal?.(error) ?? false;
    if (!task || isFinal || job.attempts > task.retries) {
      // A no is no mistake of ours.
      if (isFinal) tell("refused");
      else log.error("job_failed", error, { ...about, duration_ms: measure("failed") });
      await task?.giveUp?.(job, text);
      return { ...job, status: "failed", result: null, error: text };
    }
    log.error("job_attempt_failed", error, { ...about, duration_ms: measure("attempt_failed") });
    const runAt = new Date(deps.clock() + delayAfter(job.attempts, task));
    return queuedAgain(job, runAt, { error: text });
  }
}

/** What is known of earlier attempts stays: one may have done what it was to do. */
function neverCameBack({ error }: HeldJob): string {
  const words = "None of its workers came back";
  return error === null ? words : `${words}; before that: ${error}`;
}

function delayAfter(attempts: number, { firstDelayMs, longestDelayMs = Infinity }: Task): number {
  return Math.min(firstDelayMs * 2 ** (attempts - 1), longestDelayMs);
}

function queuedAgain(job: HeldJob, runAt: Date, changes: Partial<ReleasedJob>): ReleasedJob {
  return { ...job, ...changes, status: "queued", run_at: runAt, result: null };
}
