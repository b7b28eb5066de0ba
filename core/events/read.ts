/**
 * `listEvents` and `readEvent`, for staff and viewers, and the form in which events are shown and
 * sent.
 */

import type { Database } from "../../db/connection/database.ts";
import {
  CREATION_SLACK_MS,
  type EventFilter,
  type EventTime,
  findEvent,
  type GatewayEvent,
  listEvents as list,
} from "../../db/events/events.ts";
import { type Caller, requireReadAll } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import { firstIdAt } from "../ids.ts";
import { checkRange, refuseFilters } from "../lists/filters.ts";
import { readFilteredPage } from "../lists/page.ts";
import { completePayment } from "../records/stored_payment.ts";
import type { Service } from "../service.ts";
import { refuseOtherHistory } from "./history.ts";
import type { EventName } from "./names.ts";

export interface EventView {
  id: string;
  name: EventName;
  /** 1, 2, 3, … per resource; after a restore from a backup with a gap. */
  sequence: number;
  created_at: string;
  /** The resource after the change, and the id of the notification that caused the change. */
  data: object;
}

export function viewEvent(event: GatewayEvent): EventView {
  const { id, name, sequence, created_at, resource } = event;
  const data = resource === "payment" ? completePayment(event.data) : event.data;
  return { id, name: name as EventName, sequence, created_at: created_at.toISOString(), data };
}

export interface EventPage {
  events: EventView[];
  /** The `after` of the next page; null on the last page. */
  next: string | null;
}

/** A member that is null or missing matches any value. */
export interface EventListFilter
  extends Omit<EventFilter, "createdFrom" | "createdTo" | "order" | "after" | "limit"> {
  /** Inclusive. */
  created_from?: Date;
  /** Exclusive. */
  created_to?: Date;
}

export async function listEvents(
  service: Pick<Service, "database" | "clock" | "keep">,
  caller: Caller,
  filter: EventListFilter & Pick<EventFilter, "order" | "after" | "limit">,
): Promise<EventPage> {
  requireReadAll(caller);
  const { limit, created_from, created_to, ...rest } = filter;
  refuseFilters(checkRange(["created_from", created_from], ["created_to", created_to]));
  const times = {
    ...created_from && { createdFrom: eventTime(created_from, -CREATION_SLACK_MS) },
    ...created_to && { createdTo: eventTime(created_to, CREATION_SLACK_MS) },
  };
  const { database } = service;
  const { after } = rest;
  if (
    after !== null && await database.query((sql) => findEvent(sql, after), "find event") === null
  ) {
    refuseOtherHistory(service, after);
  }
  const { rows, next } = await readFilteredPage(
    limit,
    (limit) => database.query((sql) => list(sql, { ...rest, ...times, limit }), "list events"),
  );
  return { events: rows.map(viewEvent), next: next?.id ?? null };
}

export async function readEvent(
  { database }: { database: Database },
  caller: Caller,
  id: string,
): Promise<EventView> {
  requireReadAll(caller);
  const event = await database.query((sql) => findEvent(sql, id), "find event");
  if (!event) throw new ServiceError("not_found");
  return viewEvent(event);
}

function eventTime(time: Date, slackMs: number): EventTime {
  return { time, nearId: firstIdAt(new Date(Math.max(0, time.getTime() + slackMs))) };
}
