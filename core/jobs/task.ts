/** Tasks: the functions that run jobs, by name, and how each task retries after a failure. */

import type { Database } from "../../db/connection/database.ts";
import type { GatewayJob } from "../../db/jobs/jobs.ts";
import type { Clock } from "../time/clock.ts";
import { ServiceError } from "../errors.ts";
import { gatewayPauseMs } from "../gateway/background_pause.ts";
import type { CallType } from "../gateway/circuit_breaker.ts";
import type { GatewayClient } from "../gateway/client.ts";
import { GatewayError, isUnansweredOrRateLimited } from "../gateway/errors.ts";
import { redact } from "../secrets/redact.ts";

export interface Task {
  /** The maximum number of retries after a failure. */
  retries: number;
  /** The delay after the first failure; each further failure doubles it. */
  firstDelayMs: number;
  /** The maximum delay. Without it, the delay keeps doubling. */
  longestDelayMs?: number;
  /** How many jobs of this task run at a time, in their own lane. By default, tasks share lanes. */
  concurrency?: number;
  /** The database for the worker's statements about these jobs. Ignored without `concurrency`. */
  database?: Database;
  /**
   * A job can run more than once, so `run` has to be idempotent. The return value is stored as
   * JSON. An error is a failure, except `PostponeJob`.
   */
  run(job: GatewayJob, context: TaskContext): Promise<unknown>;
  /** Whether the error is a final rejection that a retry cannot change; by default always false. */
  isFinal?(error: unknown): boolean;
  /** Called when a job has failed permanently, before the failure is stored. */
  onFailed?(job: GatewayJob, error: string): Promise<void>;
}

export interface TaskContext {
  /** Aborted when the job exceeds the time limit. */
  signal: AbortSignal;
  /** Aborted at shutdown. A task should then stop if another instance can continue its work. */
  stopping: AbortSignal;
}

/** By name. The entry `greet *` runs all tasks `greet …` that have no entry of their own. */
export type Tasks = Readonly<Record<string, Task>>;

export function findTask(tasks: Tasks, name: string): Task | undefined {
  const found = [name, name.replace(/ .*$/s, " *")].find((each) => Object.hasOwn(tasks, each));
  return found === undefined ? undefined : tasks[found];
}

/**
 * Thrown by a task that cannot run yet: the job runs again at `until`, and no attempt is counted.
 */
export class PostponeJob extends Error {
  override name = "PostponeJob";

  /** `reason`: the error to store with the job and to log; null: nothing is stored or logged. */
  constructor(readonly until: Date, readonly reason: string | null = null) {
    super(`Postponed until ${until.toISOString()}`);
  }
}

/**
 * Postpones jobs of the task while the gateway is down or rate limiting, instead of failing them.
 * `calls`: the types of calls that the task begins with. A task that begins with a read runs even
 * while the gateway answers no writes.
 */
export function pauseWhileGatewayDown(
  service: { gateway: GatewayClient; clock: Clock },
  task: Task,
  calls: readonly CallType[] = ["read"],
): Task {
  const postpone = (ms: number) => new PostponeJob(new Date(service.clock() + ms));
  return {
    ...task,
    async run(job, context) {
      const pauseMs = gatewayPauseMs(service, calls);
      if (pauseMs > 0) throw postpone(pauseMs);
      try {
        return await task.run(job, context);
      } catch (error) {
        const pauseMs = isUnanswered(error) ? gatewayPauseMs(service) : 0;
        throw pauseMs > 0 ? postpone(pauseMs) : error;
      }
    },
  };
}

/** The error that was thrown can have the gateway's error as its cause. */
function isUnanswered(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof GatewayError) return isUnansweredOrRateLimited(each);
  }
  return false;
}

const MAX_ERROR_LENGTH = 500;

/** An error as it is stored and shown: no stack, no secrets, at most 500 characters. */
export function errorText(error: unknown): string {
  // PostgreSQL stores neither NUL nor lone surrogates; cutting the text can create a lone
  // surrogate.
  return redact(describe(error)).replaceAll("\0", "").slice(0, MAX_ERROR_LENGTH).toWellFormed();
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof ServiceError)) return `${error.name}: ${error.message}`;
  const { payment_id, outcome } = error.members;
  // The payment may have been made: without this text, the reader would assume a failure.
  const where = outcome === "unknown" && payment_id
    ? ` (outcome unknown: payment ${payment_id})`
    : "";
  return `${error.code}: ${error.message}${where}`;
}
