/** `listEvents`, for staff and viewers, and the form in which events are shown and sent. */

import type { Database } from "../../db/database.ts";
import { type EventFilter, type GatewayEvent, listEvents as list } from "../../db/events.ts";
import { type Caller, requireReadAll } from "../auth/caller.ts";
import { readPage } from "../page.ts";
import type { EventName } from "./names.ts";

export interface EventView {
  id: string;
  name: EventName;
  /** 1, 2, 3, … per resource. */
  sequence: number;
  created_at: string;
  /** The resource after the change, and the notification that caused the change. */
  data: object;
}

export function viewEvent({ id, name, sequence, created_at, data }: GatewayEvent): EventView {
  return { id, name: name as EventName, sequence, created_at: created_at.toISOString(), data };
}

export interface EventPage {
  events: EventView[];
  /** The `before` of the next page; null on the last page. */
  next: string | null;
}

export async function listEvents(
  { database }: { database: Database },
  caller: Caller,
  { limit, ...filter }: EventFilter,
): Promise<EventPage> {
  requireReadAll(caller);
  const { rows, next } = await readPage(
    limit,
    (limit) => database.query((sql) => list(sql, { ...filter, limit }), "list events"),
  );
  return { events: rows.map(viewEvent), next };
}
