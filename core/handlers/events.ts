/** `events.on(name, handler)`: event handlers of the program that embeds the service. */

import type { EventWithHandlers } from "../../db/events/publication.ts";
import { DELIVER, type NewJob } from "../../db/jobs/jobs.ts";
import type { CheckoutView } from "../checkouts/views.ts";
import type { AttentionView } from "../events/attention.ts";
import type {
  AttentionEventName,
  CheckoutEventName,
  EventName,
  InvoiceEventName,
  PaymentEventName,
  WebhookEventName,
} from "../events/names.ts";
import type { InvoiceView } from "../invoices/views.ts";
import { newJob } from "../records/new_job.ts";
import type { PaymentView } from "../payments/views.ts";
import type { EventHandlers } from "../service.ts";
import type { SubscriptionView } from "../subscriptions/views.ts";
import type { EndpointView } from "../webhooks/views.ts";

export type { EventName } from "../events/names.ts";

/** An event with this name, and the type of its data. */
export type EventOf<Name extends EventName = EventName> = Name extends EventName ? {
    id: string;
    name: Name;
    /** 1, 2, 3, … per resource. */
    sequence: number;
    created_at: string;
    /** The resource after the change, and the notification that caused the change. */
    data: DataOf<Name> & { notification_id: string | null };
  }
  : never;

type DataOf<Name extends EventName> = Name extends PaymentEventName ? PaymentView
  : Name extends InvoiceEventName ? InvoiceView
  : Name extends CheckoutEventName ? CheckoutView
  : Name extends WebhookEventName ? EndpointView
  : Name extends AttentionEventName ? AttentionView
  // With the id of the payment that paid the cycle.
  : Name extends "subscription_charged" ? SubscriptionView & { payment_id: string }
  : SubscriptionView;

/**
 * Called after the change is committed, at least once for each event. The events of one resource
 * come in order: an event waits until the handler has succeeded with the one before it. If the
 * handler throws, it is called again later. After about a day of failures the event is skipped and
 * the next one delivered; if staff retry the skipped event, it arrives late and out of order.
 */
export type EventHandler<Name extends EventName = EventName> = (
  event: EventOf<Name>,
  context: HandlerContext,
) => unknown;

export interface HandlerContext {
  /** Aborted when the handler exceeds the time limit; the call then counts as failed. */
  signal: AbortSignal;
}

export interface HandlerOptions {
  /**
   * The name of the handler. It has to be the same on every instance and after every restart,
   * because deliveries are stored under it. Default: the names of its events.
   */
  as?: string;
  /** How long the handler may take for one event, in milliseconds. Default: 30 seconds. */
  limitMs?: number;
}

export interface Events extends EventHandlers {
  /**
   * Call it before the service starts. The handler gets the events that are published from then on,
   * no matter which process wrote them.
   */
  on<Name extends EventName>(
    names: Name | readonly Name[],
    handler: EventHandler<Name>,
    options?: HandlerOptions,
  ): void;
  /** Returns all handlers; after this, `on` throws. */
  close(): readonly RegisteredHandler[];
}

export interface RegisteredHandler {
  /** The task that delivers events to the handler. */
  task: string;
  names: readonly EventName[];
  handler: EventHandler;
  limitMs?: number;
}

const NAME = /^[\w.-]{1,100}$/;

export function createEvents(): Events {
  const handlers: RegisteredHandler[] = [];
  let isClosed = false;
  return {
    on(eventNames, handler, options = {}) {
      const names = [eventNames].flat();
      const name = options.as ?? names.join(".");
      const task = DELIVER + name;
      if (isClosed) {
        throw new Error("Too late to add a handler: call `on` before the service starts");
      }
      if (!NAME.test(name)) {
        throw new Error(
          `"${name}" is not a valid handler name: use 1-100 letters, digits, "_", "." or "-"`,
        );
      }
      if (handlers.some((other) => other.task === task)) {
        throw new Error(`A handler "${name}" exists already: set another name with \`as\``);
      }
      const { limitMs } = options;
      handlers.push({ task, names, handler: handler as EventHandler, limitMs });
    },
    tasksFor: (eventName) =>
      handlers.filter(({ names }) => names.some((name) => name === eventName))
        .map(({ task }) => task),
    jobsFor,
    close() {
      isClosed = true;
      return handlers;
    },
  };
}

/** One job for each task and resource, for the first event. Each job enqueues the next event. */
function jobsFor(events: readonly EventWithHandlers[]): NewJob[] {
  const jobs = new Map<string, NewJob>();
  for (const { subscribers, resource_id, sequence, created_at } of events) {
    for (const task of subscribers) {
      const key = `${task} ${resource_id}`;
      if (!jobs.has(key)) jobs.set(key, deliveryJob(task, resource_id, sequence, created_at));
    }
  }
  return [...jobs.values()];
}

/** Visible only to staff and viewers: the owner of the resource must not see the handlers. */
export function deliveryJob(
  task: string,
  resourceId: string,
  sequence: number,
  now: Date,
): NewJob {
  const subject = { id: resourceId, user_id: null };
  const job = newJob(task, subject, { sequence }, { runAt: now, now });
  return { ...job, lane: task };
}
