/**
 * Assigns positions to committed events, on one instance at a time, and wakes followers. Inserts
 * the deliveries of each event to webhook endpoints and in-process handlers in the same
 * transaction, so that an event with a position always has its deliveries.
 */

import { runTransaction, type Sql } from "../../db/connection/database.ts";
import { publishBatch, type PublishedBatch, readOutboxAgain } from "../../db/events/publication.ts";
import { COMMITTED_CHANNEL } from "../../db/events/events.ts";
import { type DueJob, insertJobs } from "../../db/jobs/jobs.ts";
import { runOnOneInstance } from "../../db/connection/one_instance.ts";
import type { EventHandlers, PositionPublisher, Service } from "../service.ts";

/** Id of the advisory lock. Its bytes are "events" in ASCII. */
export const PUBLISHER_LOCK = 0x6576656e7473n;

/** How often to look for events. A signal can be missing, because its sender crashed. */
const POLL_MS = 1_000;

/**
 * The shortest pause between two batches. The first event after a quiet time is published at once;
 * under load one batch has many events. With 10 ms, a charge took 10 % more processor time.
 */
const PAUSE_MS = 50;

/** Log event: positions cannot be assigned. */
const PUBLISH_FAILED = "event_publisher_failed";

/** Every instance calls this. The instance that gets the lock assigns positions until it ends. */
export function startPositionPublisher(service: Service): PositionPublisher {
  const { databaseUrl, waker, events, jobQueue, log } = service;
  let isFailing = false;
  let knownConnection: Sql | null = null;
  const publisher = runOnOneInstance({
    url: databaseUrl,
    name: "payment-gateway publisher",
    lock: PUBLISHER_LOCK,
    channel: COMMITTED_CHANNEL,
    pauseMs: PAUSE_MS,
    pollMs: POLL_MS,
    async work(sql) {
      if (sql !== knownConnection) await readOutboxAgain(sql);
      knownConnection = sql;
      const { hasMore, endpoints, jobs } = await runTransaction(
        sql,
        (sql) => publishWithDeliveries(sql, events),
      );
      if (endpoints.length > 0) waker.wakeEndpoints(endpoints);
      for (const job of jobs) jobQueue.enqueue(job);
      return hasMore;
    },
    // Logs only the first error until the next success.
    onError(error) {
      if (!isFailing) log.error(PUBLISH_FAILED, error);
      isFailing = true;
    },
    onSuccess: () => isFailing = false,
  });
  waker.usePositionPublisher(publisher);
  return publisher;
}

export interface PublishedWithDeliveries extends PublishedBatch {
  /** The queued jobs of in-process handlers. */
  jobs: DueJob[];
}

/** Call it at the beginning of a transaction. */
export async function publishWithDeliveries(
  sql: Sql,
  events: EventHandlers,
  limit?: number,
): Promise<PublishedWithDeliveries> {
  const batch = await publishBatch(sql, limit);
  const jobs = batch.withHandlers.length > 0
    ? await insertJobs(sql, events.jobsFor(batch.withHandlers))
    : [];
  return { ...batch, jobs };
}
