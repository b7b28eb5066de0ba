/** Wakes the position publisher when events are committed, and the jobs that send webhooks. */

import { context, ROOT_CONTEXT } from "@opentelemetry/api";
import { pause } from "../../concurrency/deadlines.ts";
import { signalPublisher } from "../../db/events/events.ts";
import { type LanedJob, wakeJobs } from "../../db/jobs/jobs.ts";
import { newJob } from "../records/new_job.ts";
import type { EventWaker, PositionPublisher, RunningDeliveryJob, Service } from "../service.ts";

/** The name of the task that sends the due deliveries of one webhook endpoint. */
export const DELIVER_WEBHOOKS = "deliver_webhooks";

/** The first signal is sent at once; those of the next 100 ms are sent together. */
const PAUSE_MS = 100;

export function createEventWaker(
  { database, jobQueue, clock, log }: Pick<Service, "database" | "jobQueue" | "clock" | "log">,
): EventWaker {
  const deliveryJobs = new Map<string, RunningDeliveryJob>();
  const closing = new AbortController();
  let positionPublisher: PositionPublisher | null = null;
  let hasNewEvents = false;
  const waitingEndpoints = new Set<string>();

  const signals = createBatchedSender(() => hasNewEvents, async () => {
    hasNewEvents = false;
    await database.query(signalPublisher, "signal publisher");
  });
  const wakeUps = createBatchedSender(() => waitingEndpoints.size > 0, async () => {
    const now = new Date(clock());
    const jobs = [...waitingEndpoints].map((id) => deliverWebhooksJob(id, now));
    waitingEndpoints.clear();
    const queued = await database.query((sql) => wakeJobs(sql, jobs), "wake deliveries");
    for (const job of queued) jobQueue.enqueue(job);
  });

  /** Calls `sendAll` while there is something to send, with pauses. */
  function createBatchedSender(hasMore: () => boolean, sendAll: () => Promise<void>) {
    let sending: Promise<void> | null = null;
    async function send(): Promise<void> {
      while (hasMore()) {
        await sendAll().catch((error) => log.error("events_not_published", error));
        await pause(PAUSE_MS, [closing.signal]);
      }
      sending = null;
    }
    return {
      start() {
        // One run serves many callers, so it must not be part of one caller's trace.
        if (hasMore()) sending ??= context.with(ROOT_CONTEXT, send);
      },
      finished: () => sending,
    };
  }

  return {
    wakePublisher() {
      if (positionPublisher?.wake()) return;
      hasNewEvents = true;
      signals.start();
    },
    usePositionPublisher: (used) => void (positionPublisher = used),
    wakeEndpoints(endpointIds) {
      for (const id of endpointIds) {
        const job = deliveryJobs.get(id);
        if (job) job.onDelivery();
        else waitingEndpoints.add(id);
      }
      wakeUps.start();
    },
    signalEndpointChange(endpointId) {
      deliveryJobs.get(endpointId)?.onChange();
    },
    registerDeliveryJob(endpointId, job) {
      deliveryJobs.set(endpointId, job);
      return { [Symbol.dispose]: () => void deliveryJobs.delete(endpointId) };
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await signals.finished();
      await wakeUps.finished();
    },
  };
}

/** The job has no owner, so only staff and viewers see it: endpoints are not shown to users. */
function deliverWebhooksJob(endpointId: string, now: Date): LanedJob {
  const subject = { id: endpointId, user_id: null };
  const job = newJob(DELIVER_WEBHOOKS, subject, {}, { runAt: now, now });
  return { ...job, lane: DELIVER_WEBHOOKS };
}
