/** `retryJob`: has a job that was given up run again, as if it had never been tried. */

import { codeOf, type Database, UNIQUE_VIOLATION } from "../../db/database.ts";
import { type GatewayJob, requeueJob } from "../../db/jobs.ts";
import type { Caller } from "../auth/caller.ts";
import { requireStaff } from "../auth/staff.ts";
import type { Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import { isTooLate } from "./asked.ts";
import type { JobQueue } from "./queue.ts";
import { find } from "./read.ts";
import { type JobView, viewJob } from "./views.ts";

export interface RetryDeps {
  database: Database;
  jobQueue: JobQueue;
  clock: Clock;
}

export async function retryJob(deps: RetryDeps, caller: Caller, id: string): Promise<JobView> {
  requireStaff(caller);
  const isOver = isTooLate(await find(deps, id), deps.clock());
  const job = (isOver ? null : await queue(deps, id)) ?? refuse(await find(deps, id), isOver);
  deps.jobQueue.enqueue(job);
  return viewJob(job);
}

/** Null: it is not there, or in no state for it. */
async function queue({ database, clock }: RetryDeps, id: string): Promise<GatewayJob | null> {
  try {
    const now = new Date(clock());
    return await database.query((sql) => requeueJob(sql, id, now), "queue job again");
  } catch (error) {
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error;
    throw invalid("Another job of the same task waits for the same thing already.");
  }
}

function refuse({ status }: GatewayJob, isOver: boolean): never {
  if (status !== "failed") {
    throw invalid(`Only a failed job can be run again; this one is ${status}.`);
  }
  throw invalid(
    isOver
      ? "It was asked for too long ago to be done now; its error tells what is known of it."
      : "The card token it needs was erased when it ended: only the same request with the same " +
        "Idempotency-Key can bring it again.",
  );
}

function invalid(detail: string): ServiceError {
  return new ServiceError("invalid_state", { detail });
}
