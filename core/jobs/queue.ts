/** Brings jobs from those who write them to a worker. */

import type { JobKind } from "../../db/job_queries.ts";
import type { DueJob } from "../../db/jobs.ts";

/**
 * Called when the job's row is committed, never before. Nothing is lost with a job that is not
 * carried: its row is there, and within a minute of its time the sweep finds it.
 */
export interface JobQueue extends AsyncDisposable {
  /** Never fails. */
  enqueue(job: DueJob): void;
}

/** Takes a job that is due; never fails. Whoever knows of what kind it is saves others the question. */
export type Deliver = (jobId: string, kind?: JobKind) => Promise<void>;

/** A carrier from the other end. */
export interface OpenJobQueue extends JobQueue {
  /** From now on jobs are delivered: at least once each, at their time. */
  start(deliver: Deliver): void;
  /** Before a worker closes: what it will not run any more is left to other instances. */
  stop(): void;
}

/** Only the id travels, and perhaps the kind: what is to be done is in the row. */
export interface Message {
  job: string;
  kind?: JobKind;
}

/** Queues outlive the program that wrote to them. */
export function isMessage(message: unknown): message is Message {
  return typeof message === "object" && message !== null && "job" in message &&
    typeof message.job === "string" && (!("kind" in message) || isKind(message.kind));
}

function isKind(kind: unknown): kind is JobKind {
  return typeof kind === "object" && kind !== null && "task" in kind && "rank" in kind &&
    typeof kind.task === "string" && typeof kind.rank === "number";
}
