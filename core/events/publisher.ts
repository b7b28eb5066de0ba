/** Notifies the position publisher and webhook delivery jobs of events after their commit. */

import { context, ROOT_CONTEXT } from "@opentelemetry/api";
import { waitAtMost } from "../../concurrency/deadlines.ts";
import type { Database } from "../../db/database.ts";
import { notifyPublisher } from "../../db/events.ts";
import { JOB_RANKS, type RankedJob, wakeJobs } from "../../db/jobs.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { type EndpointSubscriber, type EventPublisher, type JobQueue, newJob } from "../outbox.ts";

/** The name of the task that sends the due deliveries of one webhook endpoint. */
export const DELIVER_WEBHOOKS = "deliver_webhooks";

/** The first event is published at once; the events of the next 100 ms are published together. */
const PAUSE_MS = 100;

export interface EventPublisherDeps {
  database: Database;
  jobQueue: JobQueue;
  clock: Clock;
  log: Log;
}

export function createEventPublisher(
  { database, jobQueue, clock, log }: EventPublisherDeps,
): EventPublisher {
  const subscribers = new Map<string, EndpointSubscriber>();
  const closing = Promise.withResolvers<void>();
  /** The endpoints of the next notification; null: there is nothing to publish. */
  let pending: Set<string> | null = null;
  let publishing: Promise<void> | null = null;

  async function publishPending(): Promise<void> {
    while (pending) {
      const now = new Date(clock());
      const jobs = [...pending].map((id) => deliverWebhooksJob(id, now));
      pending = null;
      try {
        await database.query(notifyPublisher, "notify publisher");
        if (jobs.length > 0) await wakeDeliveries(jobs);
      } catch (error) {
        log.error("events_not_published", error);
      }
      await waitAtMost(PAUSE_MS, closing.promise);
    }
    publishing = null;
  }

  async function wakeDeliveries(jobs: RankedJob[]): Promise<void> {
    const queued = await database.query((sql) => wakeJobs(sql, jobs), "wake deliveries");
    for (const job of queued) jobQueue.enqueue(job);
  }

  return {
    publish(endpointIds) {
      pending ??= new Set();
      for (const id of endpointIds) {
        const subscriber = subscribers.get(id);
        if (subscriber) subscriber.onDelivery();
        else pending.add(id);
      }
      // One run publishes events of many callers, so it must not be part of one caller's trace.
      publishing ??= context.with(ROOT_CONTEXT, publishPending);
    },
    publishEndpointChange(endpointId) {
      subscribers.get(endpointId)?.onChange();
    },
    subscribe(endpointId, subscriber) {
      subscribers.set(endpointId, subscriber);
      return { [Symbol.dispose]: () => void subscribers.delete(endpointId) };
    },
    async [Symbol.asyncDispose]() {
      closing.resolve();
      await publishing;
    },
  };
}

/** Visible to staff only: the owner of a resource must not see the endpoints. */
function deliverWebhooksJob(endpointId: string, now: Date): RankedJob {
  const subject = { id: endpointId, user_id: null };
  const job = newJob(DELIVER_WEBHOOKS, subject, {}, { runAt: now, now });
  return { ...job, rank: JOB_RANKS.delivery };
}
