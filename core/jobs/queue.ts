/** The interface of a job queue for the process that runs jobs, and the messages in the queue. */

import type { JobKind } from "../../db/job_queries.ts";
import type { JobQueue } from "../outbox.ts";

/**
 * Runs a job that is due and resolves when the run is over; never rejects. A caller that knows the
 * kind passes it and saves a query.
 */
export type RunJob = (jobId: string, kind?: JobKind) => Promise<void>;

export interface OpenJobQueue extends JobQueue {
  /** From now on passes each due job to `runJob`, at least once. */
  start(runJob: RunJob): void;
  /** Call it before the worker closes: jobs that the worker then rejects go to other instances. */
  stop(): void;
}

/** Contains the id and optionally the kind; the rest of the job is in its row. */
export interface Message {
  job: string;
  kind?: JobKind;
}

/** Messages are checked because another release of the program may have written them. */
export function isMessage(message: unknown): message is Message {
  return typeof message === "object" && message !== null && "job" in message &&
    typeof message.job === "string" && (!("kind" in message) || isKind(message.kind));
}

function isKind(kind: unknown): kind is JobKind {
  return typeof kind === "object" && kind !== null && "task" in kind && "rank" in kind &&
    typeof kind.task === "string" && typeof kind.rank === "number" &&
    (!("turn" in kind) || typeof kind.turn === "number") &&
    (!("user_id" in kind) || kind.user_id === null || typeof kind.user_id === "string");
}
