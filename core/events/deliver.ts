/** `deliver …`: brings the events of one resource to one who listens, one at a time, in their order. */

import type { Database } from "../../db/database.ts";
import { type GatewayEvent, listEventsFrom } from "../../db/events.ts";
import {
  DELIVER,
  type GatewayJob,
  hasToWait,
  insertJobs,
  LEFT_OUT,
  markLeftOut,
} from "../../db/jobs.ts";
import type { Clock } from "../clock.ts";
import type { JobQueue } from "../jobs/queue.ts";
import { PostponeJob, type Task, type Tasks } from "../jobs/task.ts";
import { withTimeLimit } from "../jobs/time_limit.ts";
import { deliveryJob, type Events, type Subscriber } from "./hub.ts";
import { viewEvent } from "./views.ts";

/** Of each subscriber: one that is slow, or is called for many payments, has only itself to wait for. */
const AT_ONCE = 8;

/** About a day of patience with one that is broken: 5 s, 10 s, … 43 min, then every hour. */
const PATIENCE = { retries: 30, firstDelayMs: 5_000, longestDelayMs: 3_600_000 };

const LIMIT_MS = 30_000;

/** How soon to look again whether an earlier delivery of the same resource is over. */
const TURN_MS = 1_000;

/** For how long an instance that does not know a subscriber leaves it to those who may. */
const UNHEARD_MS = 3_600_000;
const UNHEARD_RETRY_MS = 60_000;

export interface DeliverDeps {
  database: Database;
  jobQueue: JobQueue;
  clock: Clock;
  events: Events;
}

export interface DeliverOptions {
  /** How long a subscriber may take for one event. */
  limitMs?: number;
}

export function createDeliveries(deps: DeliverDeps, { limitMs = LIMIT_MS }: DeliverOptions = {}) {
  const tasks: Record<string, Task> = { [`${DELIVER}*`]: unheard(deps) };
  for (const subscriber of deps.events.close()) {
    tasks[subscriber.task] = deliver(deps, subscriber, limitMs);
  }
  return tasks satisfies Tasks;
}

function deliver(deps: DeliverDeps, { names, handler }: Subscriber, limitMs: number): Task {
  /** The first event that is still to be handled, and the one after it. */
  async function read(job: GatewayJob): Promise<GatewayEvent[]> {
    const from = { resourceId: job.subject_id!, sequence: sequenceOf(job), names, limit: 2 };
    return await deps.database.query((sql) => listEventsFrom(sql, from), "list events to deliver");
  }

  return {
    ...PATIENCE,
    atOnce: AT_ONCE,
    async run(job) {
      const mustWait = await deps.database.query(
        (sql) => hasToWait(sql, job, sequenceOf(job)),
        "find earlier delivery",
      );
      if (mustWait) throw new PostponeJob(new Date(deps.clock() + TURN_MS));
      const [event, next] = await read(job);
      if (!event) return null;
      // Also what a handler throws that is not even asynchronous is its failure.
      await withTimeLimit(limitMs, async (signal) => await handler(viewEvent(event), { signal }));
      await goOn(deps, job, next);
      return { event_id: event.id };
    },
    // What cannot be handled is left out: those that came after it still have to be.
    async giveUp(job) {
      const [, next] = await read(job);
      await goOn(deps, job, next);
      // In this order: where that cannot be noted, they are told twice rather than never.
      await deps.database.query((sql) => markLeftOut(sql, job), "note event left out");
    },
  };
}

/**
 * A job of its own: each event has all the attempts there are. After one that was left out, and is
 * tried again, that has long been done.
 */
async function goOn(
  { database, jobQueue, clock }: DeliverDeps,
  { task, payload }: GatewayJob,
  next: GatewayEvent | undefined,
): Promise<void> {
  if (!next || payload[LEFT_OUT]) return;
  const job = deliveryJob(task, next.resource_id, next.sequence, new Date(clock()));
  const waiting = await database.query((sql) => insertJobs(sql, [job]), "insert delivery");
  for (const each of waiting) jobQueue.enqueue(each);
}

/**
 * Jobs of subscribers that this instance does not have. Another one may, of a release that is just
 * being brought out; where none does, the subscriber is gone, and the job has to end.
 */
function unheard({ clock }: DeliverDeps): Task {
  return {
    retries: 0,
    firstDelayMs: 0,
    run({ task, created_at }) {
      const now = clock();
      if (now < created_at.getTime() + UNHEARD_MS) {
        throw new PostponeJob(new Date(now + UNHEARD_RETRY_MS));
      }
      throw new Error(`Nobody listens as "${task.slice(DELIVER.length)}"`);
    },
  };
}

function sequenceOf({ payload }: GatewayJob): number {
  return Number(payload.sequence);
}
