/** Starts deliveries that were missed, and those of an endpoint that was enabled again. */

import type { NewJob } from "../../db/jobs/jobs.ts";
import { resumeDeliveries } from "../../db/webhooks/deliveries.ts";
import { listEndpointsWithWork } from "../../db/webhooks/endpoints.ts";
import type { Task } from "../jobs/task.ts";
import { newJob } from "../records/new_job.ts";
import type { Service } from "../service.ts";

/**
 * `serve_endpoints`: starts the delivery job of every endpoint that needs one. Returns their
 * number.
 */
export async function sweepDeliveries(
  { database, clock, waker }: Service,
): Promise<number> {
  const now = new Date(clock());
  const ids = await database.query(
    (sql) => listEndpointsWithWork(sql, now),
    "list endpoints to serve",
  );
  if (ids.length > 0) waker.wakeEndpoints(ids);
  return ids.length;
}

export const RESUME_WEBHOOKS = "resume_webhooks";

/** How many rows one statement changes. */
const BATCH = 1_000;

export function resumeJob(endpointId: string, now: Date): NewJob {
  return newJob(RESUME_WEBHOOKS, { id: endpointId, user_id: null }, {}, { runAt: now, now });
}

/** Makes the waiting deliveries of an endpoint due now, because the endpoint was enabled again. */
export function createResumeWebhooks({ database, clock, waker }: Service): Task {
  return {
    retries: 10,
    firstDelayMs: 5_000,
    async run({ subject_id, created_at }) {
      const endpointId = subject_id!;
      const batch = { endpointId, now: new Date(clock()), since: created_at, limit: BATCH };
      const resumeBatch = () =>
        database.query((sql) => resumeDeliveries(sql, batch), "resume deliveries");
      while (await resumeBatch() === BATCH);
      waker.wakeEndpoints([endpointId]);
      return null;
    },
  };
}
