/** Tells of events once they are committed: those who follow them, and those who deliver them. */

import { context, ROOT_CONTEXT } from "@opentelemetry/api";
import type { Database } from "../../db/database.ts";
import { notifyFollowers } from "../../db/events.ts";
import { JOB_RANKS, type RankedJob, wakeJobs } from "../../db/jobs.ts";
import { waitAtMost } from "../../db/within.ts";
import type { Clock } from "../clock.ts";
import { newJob } from "../jobs/new_job.ts";
import type { JobQueue } from "../jobs/queue.ts";
import type { Log } from "../log.ts";

/** The task that sends what is due to one endpoint. */
export const DELIVER_WEBHOOKS = "deliver_webhooks";

/** The first is told of at once; under load it is told so often, and not for each. */
const PAUSE_MS = 100;

export interface EventPublisherDeps {
  database: Database;
  jobQueue: JobQueue;
  clock: Clock;
  log: Log;
}

export interface EventPublisher extends AsyncDisposable {
  /**
   * There are events, and deliveries to these endpoints. Nobody waits for it: should it come to
   * nothing, those who follow look by themselves, and the schedule finds what is to be delivered.
   */
  publish(endpointIds: Iterable<string>): void;
  /** An endpoint is another now; its deliveries may be, too. */
  publishEndpointChange(endpointId: string): void;
  /** Who is at it already needs no job to be told that there is more. */
  hear(endpointId: string, hearer: Hearer): Disposable;
}

export interface Hearer {
  onNews(): void;
  onChange(): void;
}

export function createEventPublisher(
  { database, jobQueue, clock, log }: EventPublisherDeps,
): EventPublisher {
  const hearers = new Map<string, Hearer>();
  const closing = Promise.withResolvers<void>();
  let untold: Set<string> | null = null;
  let telling: Promise<void> | null = null;

  async function wake(jobs: RankedJob[]): Promise<void> {
    const waiting = await database.query((sql) => wakeJobs(sql, jobs), "wake deliveries");
    for (const job of waiting) jobQueue.enqueue(job);
  }

  async function tell(): Promise<void> {
    while (untold) {
      const now = new Date(clock());
      const jobs = [...untold].map((id) => wakeUp(id, now));
      untold = null;
      try {
        await database.query(notifyFollowers, "tell of events");
        if (jobs.length > 0) await wake(jobs);
      } catch (error) {
        log.error("events_not_announced", error);
      }
      await waitAtMost(PAUSE_MS, closing.promise);
    }
    telling = null;
  }

  return {
    publish(endpointIds) {
      untold ??= new Set();
      for (const id of endpointIds) {
        const hearer = hearers.get(id);
        if (hearer) hearer.onNews();
        else untold.add(id);
      }
      // It is told for many at once, and so is part of nobody's trace.
      telling ??= context.with(ROOT_CONTEXT, tell);
    },
    publishEndpointChange(endpointId) {
      hearers.get(endpointId)?.onChange();
    },
    hear(endpointId, hearer) {
      hearers.set(endpointId, hearer);
      return { [Symbol.dispose]: () => void hearers.delete(endpointId) };
    },
    async [Symbol.asyncDispose]() {
      closing.resolve();
      await telling;
    },
  };
}

/** Nobody's own: who is told is no business of those whose payment it is. */
function wakeUp(endpointId: string, now: Date): RankedJob {
  const subject = { id: endpointId, user_id: null };
  const job = newJob(DELIVER_WEBHOOKS, subject, {}, { runAt: now, now });
  return { ...job, rank: JOB_RANKS.delivery };
}
