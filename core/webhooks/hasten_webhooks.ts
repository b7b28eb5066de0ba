/** `hasten_webhooks`: an endpoint is enabled again, so nothing waits any longer for it to get better. */

import type { Database } from "../../db/database.ts";
import type { NewJob } from "../../db/jobs.ts";
import { bringForwardDeliveries } from "../../db/webhook_deliveries.ts";
import type { Clock } from "../clock.ts";
import type { EventPublisher } from "../events/publisher.ts";
import { newJob } from "../jobs/new_job.ts";
import type { Task } from "../jobs/task.ts";

export const HASTEN_WEBHOOKS = "hasten_webhooks";

/** Rows changed by one statement. */
const STEP = 1_000;

export interface HastenDeps {
  database: Database;
  clock: Clock;
  publisher: EventPublisher;
}

export function hastenJob(endpointId: string, now: Date): NewJob {
  return newJob(HASTEN_WEBHOOKS, { id: endpointId, user_id: null }, {}, { runAt: now, now });
}

export function createHastenWebhooks({ database, clock, publisher }: HastenDeps): Task {
  return {
    retries: 10,
    firstDelayMs: 5_000,
    async run({ subject_id, created_at }) {
      const endpointId = subject_id!;
      const options = { endpointId, now: new Date(clock()), since: created_at, limit: STEP };
      const step = () =>
        database.query((sql) => bringForwardDeliveries(sql, options), "hasten deliveries");
      while (await step() === STEP);
      publisher.publish([endpointId]);
      return null;
    },
  };
}
