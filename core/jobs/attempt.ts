/** One attempt at a job: what its task made of it, and how the job is to be left after that. */

import type { HeldJob, LeftJob } from "../../db/jobs.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { errorText } from "./error_text.ts";
import { PutOff, type Task, type Tasks } from "./task.ts";

/** A job whose workers never come back may be what ends them, and must not do so for ever. */
const MOST_LOST_WORKERS = 3;

export interface AttemptDeps {
  tasks: Tasks;
  clock: Clock;
  log: Log;
  /** A job that takes longer has failed. */
  limitMs: number;
}

export async function attempt(deps: AttemptDeps, job: HeldJob): Promise<LeftJob> {
  const { tasks, log } = deps;
  const about = { job: job.id, task: job.task, attempts: job.attempts };
  const began = performance.now();
  const tell = (outcome: string) =>
    log.info("job", { ...about, outcome, duration_ms: Math.round(performance.now() - began) });

  const task = Object.hasOwn(tasks, job.task) ? tasks[job.task] : undefined;
  try {
    if (!task) throw new Error(`There is no task "${job.task}"`);
    if (job.attempts > task.retries + 1 + MOST_LOST_WORKERS) {
      throw new Error("None of its workers came back");
    }
    const result = JSON.stringify(await perform(task, job, deps.limitMs)) ?? null;
    tell("succeeded");
    return { ...job, status: "succeeded", result, error: null };
  } catch (error) {
    if (error instanceof PutOff) {
      tell("put_off");
      return queuedAgain(job, error.until, { attempts: job.attempts - 1 });
    }
    const text = errorText(error);
    if (!task || job.attempts > task.retries) {
      log.error("job_failed", error, about);
      return { ...job, status: "failed", result: null, error: text };
    }
    log.error("job_attempt_failed", error, about);
    const delay = task.firstDelayMs * 2 ** (job.attempts - 1);
    return queuedAgain(job, new Date(deps.clock() + delay), { error: text });
  }
}

/** Gives up on a task that does not end: with a few of them, no other would ever get its turn. */
async function perform(task: Task, job: HeldJob, limitMs: number): Promise<unknown> {
  const limit = new AbortController();
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new Error(`It took longer than ${limitMs / 1000} s`);
    limit.abort(error);
    reject(error);
  }, limitMs);
  try {
    return await Promise.race([task.run(job, { signal: limit.signal }), timeUp]);
  } finally {
    clearTimeout(timer);
  }
}

function queuedAgain(job: HeldJob, runAt: Date, changes: Partial<LeftJob>): LeftJob {
  return { ...job, ...changes, status: "queued", run_at: runAt, result: null };
}
