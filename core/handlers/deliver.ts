/** `deliver …`: calls one handler with the events of one resource, one at a time, in order. */

import { withTimeLimit } from "../../concurrency/deadlines.ts";
import { type GatewayEvent, listEventsFrom } from "../../db/events/events.ts";
import {
  DELIVER,
  type GatewayJob,
  hasToWait,
  insertJobs,
  markSkipped,
  SKIPPED,
} from "../../db/jobs/jobs.ts";
import { isHandlerRegistered } from "../../db/events/handlers.ts";
import { viewEvent } from "../events/read.ts";
import { PostponeJob, type Task, type Tasks } from "../jobs/task.ts";
import type { Service } from "../service.ts";
import { deliveryJob, type EventOf, type RegisteredHandler } from "./events.ts";

/** Concurrent deliveries to one handler. A slow or busy handler delays only itself. */
const CONCURRENCY = 8;

/** Retries for about a day: after 5 s, 10 s, … 43 min, then every hour. */
const RETRIES = { retries: 30, firstDelayMs: 5_000, longestDelayMs: 3_600_000 };

const LIMIT_MS = 30_000;

/** How long to wait before checking again whether an earlier delivery of the resource is over. */
const ORDER_WAIT_MS = 1_000;

/** How long an event waits between two tries if only another instance handles it. */
const OTHER_INSTANCE_RETRY_MS = 10_000;

export interface DeliverOptions {
  /** How long a handler may take for one event, unless it has its own limit. */
  limitMs?: number;
}

export function createDeliveryTasks(
  service: Service,
  handlers: readonly RegisteredHandler[],
  { limitMs = LIMIT_MS }: DeliverOptions = {},
) {
  const tasks: Record<string, Task> = { [`${DELIVER}*`]: unknownHandlerTask(service) };
  for (const registered of handlers) {
    tasks[registered.task] = deliveryTask(service, {
      ...registered,
      limitMs: registered.limitMs ?? limitMs,
    });
  }
  return tasks satisfies Tasks;
}

function deliveryTask(
  service: Service,
  { task, names, handler, limitMs }: RegisteredHandler & { limitMs: number },
): Task {
  /** The event to deliver, and the one after it. */
  async function readNext(job: GatewayJob): Promise<GatewayEvent[]> {
    const from = { resourceId: job.subject_id!, sequence: sequenceOf(job), task, names, limit: 2 };
    return await service.database.query(
      (sql) => listEventsFrom(sql, from),
      "list events to deliver",
    );
  }

  return {
    ...RETRIES,
    concurrency: CONCURRENCY,
    async run(job) {
      const mustWait = await service.database.query(
        (sql) => hasToWait(sql, job, sequenceOf(job)),
        "find earlier delivery",
      );
      if (mustWait) throw new PostponeJob(new Date(service.clock() + ORDER_WAIT_MS));
      const [event, next] = await readNext(job);
      if (!event) return null;
      // Another instance handles this event, too, such as one of a newer version.
      if (!names.some((name) => name === event.name)) {
        throw new PostponeJob(new Date(service.clock() + OTHER_INSTANCE_RETRY_MS));
      }
      const view = viewEvent(event) as EventOf;
      // `async` turns an exception of a synchronous handler into a rejection.
      await withTimeLimit(limitMs, async (signal) => await handler(view, { signal }));
      await enqueueNext(service, job, next);
      return { event_id: event.id };
    },
    /** Skips the event, so that the later ones are still delivered. */
    async onFailed(job) {
      const [, next] = await readNext(job);
      await enqueueNext(service, job, next);
      // In this order: if marking fails, the next event is delivered twice instead of never.
      await service.database.query((sql) => markSkipped(sql, job), "mark event as skipped");
    },
  };
}

/**
 * The next event gets its own job, so its attempts are counted from 0. Does nothing after a skipped
 * event that staff retried: the next event was already enqueued when that event was skipped.
 */
async function enqueueNext(
  { database, jobQueue, clock }: Service,
  { task, payload }: GatewayJob,
  next: GatewayEvent | undefined,
): Promise<void> {
  if (!next || payload[SKIPPED]) return;
  const job = deliveryJob(task, next.resource_id, next.sequence, new Date(clock()));
  const queued = await database.query((sql) => insertJobs(sql, [job]), "insert delivery");
  for (const each of queued) jobQueue.enqueue(each);
}

/** Ends the delivery: no retry can find the handler. */
class HandlerRemoved extends Error {}

/**
 * For handlers that this instance does not have. Their deliveries wait in other lanes, and only
 * the sweep runs this task, for those that no instance has taken for an hour. If the handler is
 * registered, its instances are only stopped or behind. Otherwise it was removed.
 */
function unknownHandlerTask({ database, clock }: Service): Task {
  return {
    // As many as the handler has, because its attempts count here, too: with fewer retries, the
    // worker would end a delivery whose handler is only stopped.
    ...RETRIES,
    isFinal: (error) => error instanceof HandlerRemoved,
    async run({ task }) {
      const isRegistered = await database.query(
        (sql) => isHandlerRegistered(sql, task),
        "find handler",
      );
      if (isRegistered) throw new PostponeJob(new Date(clock()));
      throw new HandlerRemoved(`There is no handler "${task.slice(DELIVER.length)}"`);
    },
  };
}

function sequenceOf({ payload }: GatewayJob): number {
  return Number(payload.sequence);
}
