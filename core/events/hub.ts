/** `events.on(name, handler)`: who in this process listens to what happens. */

import type { GatewayEvent } from "../../db/events.ts";
import { DELIVER, JOB_RANKS, type NewJob } from "../../db/jobs.ts";
import { newJob } from "../jobs/new_job.ts";
import type { EventName } from "./names.ts";
import type { EventView } from "./views.ts";

export type { EventName } from "./names.ts";

/**
 * Called after the change is committed, at least once for each event, and for one resource in the
 * order of its events: none while another of the same resource is being handled, or was not handled
 * yet. What it throws makes it be called again later. After about a day of that the event is left out,
 * and those after it are told; should staff have it retried, it comes late, out of that order.
 */
export type EventHandler<Name extends EventName = EventName> = (
  event: EventView<Name>,
  context: HandlerContext,
) => unknown;

export interface HandlerContext {
  /** Aborted when handling has taken too long, which counts as a failure: then it has to stop. */
  signal: AbortSignal;
}

export interface SubscribeOptions {
  /**
   * What the subscriber is called, on every instance and after every restart: deliveries wait for it
   * under this name. Where left out, it is called as what it listens to.
   */
  as?: string;
}

export interface Events {
  /** Only before the service runs: what is written then has to find everybody who listens. */
  on<Name extends EventName>(
    names: Name | readonly Name[],
    handler: EventHandler<Name>,
    options?: SubscribeOptions,
  ): void;
  /** The jobs that bring events to those who listen, to be written together with the events. */
  jobsFor(events: GatewayEvent[], now: Date): NewJob[];
  /** Everybody who listens; nobody can be added any more. */
  close(): readonly Subscriber[];
}

export interface Subscriber {
  /** By which events are brought to it. */
  task: string;
  names: readonly EventName[];
  handler: EventHandler;
}

const NAME = /^[\w.-]{1,100}$/;

export function createEvents(): Events {
  const subscribers: Subscriber[] = [];
  let isClosed = false;
  return {
    on(wanted, handler, options = {}) {
      const names = [wanted].flat();
      const name = options.as ?? names.join(".");
      const task = DELIVER + name;
      if (isClosed) throw new Error("Subscribe before the service runs");
      if (!NAME.test(name)) throw new Error(`"${name}" is no name for a subscriber`);
      if (subscribers.some((other) => other.task === task)) {
        throw new Error(`There is a subscriber "${name}" already: give this one another name, as`);
      }
      subscribers.push({ task, names, handler: handler as EventHandler });
    },
    jobsFor: (events, now) =>
      subscribers.flatMap(({ task, names }) => {
        const heard = events.filter(({ name }) => names.some((each) => each === name));
        const byResource = Map.groupBy(heard, ({ resource_id }) => resource_id);
        return [...byResource].map(([resourceId, [first]]) =>
          deliveryJob(task, resourceId, first!.sequence, now)
        );
      }),
    close() {
      isClosed = true;
      return subscribers;
    },
  };
}

/** Nobody's own: who listens is no business of those whose payment it is. */
export function deliveryJob(
  task: string,
  resourceId: string,
  sequence: number,
  now: Date,
): NewJob {
  const subject = { id: resourceId, user_id: null };
  const job = newJob(task, subject, { sequence }, { runAt: now, now });
  return { ...job, rank: JOB_RANKS.delivery };
}
