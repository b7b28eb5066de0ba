/** What can be done as a job: a handler by name, and how patient it is with failure. */

import type { GatewayJob } from "../../db/jobs.ts";

export interface Task {
  /** How often it is tried again after a failure. */
  retries: number;
  /** How long after the first failure; each further one doubles it. */
  firstDelayMs: number;
  /** But never longer than this; where left out, as long as that takes. */
  longestDelayMs?: number;
  /** How many of it may run at once, in places of their own: those for all others stay free. */
  atOnce?: number;
  /**
   * A job can be run more than once, so doing it again has to change nothing. What it returns is kept
   * as JSON; what it throws is a failure, unless it is `PutOff`.
   */
  run(job: GatewayJob, context: TaskContext): Promise<unknown>;
  /** Whether an error is an answer, and no: it is not tried again. Where left out, none is. */
  isFinal?(error: unknown): boolean;
  /** Told of a job that has failed for good, before that is written. */
  giveUp?(job: GatewayJob, error: string): Promise<void>;
}

export interface TaskContext {
  /** Aborted when the job has taken longer than any may. */
  signal: AbortSignal;
  /** Aborted when the service is about to end: what can go on elsewhere does not begin more. */
  stopping: AbortSignal;
}

/** By name; `greet *` is for every job whose task begins with that word and has no entry itself. */
export type Tasks = Readonly<Record<string, Task>>;

export function findTask(tasks: Tasks, name: string): Task | undefined {
  const found = [name, name.replace(/ .*$/s, " *")].find((each) => Object.hasOwn(tasks, each));
  return found === undefined ? undefined : tasks[found];
}

/** Thrown by a task for which it is too early: it runs again then, as if it had not been tried. */
export class PostponeJob extends Error {
  override name = "PutOff";

  constructor(readonly until: Date) {
    super(`Put off until ${until.toISOString()}`);
  }
}
