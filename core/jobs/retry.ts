/** `retryJob`: queues a failed job again and resets its attempts. */

import { codeOf, UNIQUE_VIOLATION } from "../../db/connection/database.ts";
import { type GatewayJob, requeueJob } from "../../db/jobs/jobs.ts";
import { type Caller, requireStaff } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import type { Service } from "../service.ts";
import { hasRequestExpired } from "./async_requests.ts";
import { type JobView, requireJob, viewJob } from "./read.ts";

export async function retryJob(service: Service, caller: Caller, id: string): Promise<JobView> {
  requireStaff(caller);
  const hasExpired = hasRequestExpired(service, await requireJob(service, id));
  const job = hasExpired ? null : await requeue(service, id);
  if (!job) throw whyNotRetried(await requireJob(service, id), hasExpired);
  service.jobQueue.enqueue(job);
  return viewJob(job);
}

/** Null: the job does not exist, has not failed, or its card token was erased. */
async function requeue({ database, clock }: Service, id: string): Promise<GatewayJob | null> {
  try {
    const now = new Date(clock());
    return await database.query((sql) => requeueJob(sql, id, now), "queue job again");
  } catch (error) {
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error;
    throw invalidState(
      "Another job of this task is already queued for the same resource, so no retry is needed.",
    );
  }
}

function whyNotRetried({ status }: GatewayJob, hasExpired: boolean): ServiceError {
  if (status !== "failed") {
    return invalidState(`Only a failed job can be retried; this one is ${status}.`);
  }
  return invalidState(
    hasExpired
      ? "The request is more than 23 hours old and can no longer be processed. Read the job's " +
        "error for its last known result."
      : "The card token was erased when the job ended. To retry, the caller has to send the same " +
        "request with the same Idempotency-Key.",
  );
}

function invalidState(detail: string): ServiceError {
  return new ServiceError("invalid_state", { detail });
}
