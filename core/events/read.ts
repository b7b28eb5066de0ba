/** `listEvents`: what happened, for staff; in an order that never changes. */

import { type EventFilter, listEvents as list } from "../../db/events.ts";
import { type Caller, requireStaff } from "../auth/caller.ts";
import type { PaymentDeps } from "../payments/payment_record.ts";
import { type EventView, viewEvent } from "./views.ts";

export interface EventPage {
  events: EventView[];
  /** Where the next page begins, to be given as `before`; null on the last one. */
  next: string | null;
}

export async function listEvents(
  { database }: PaymentDeps,
  caller: Caller,
  { limit, ...filter }: EventFilter,
): Promise<EventPage> {
  requireStaff(caller);
  const rows = await database.query(
    (sql) => list(sql, { ...filter, limit: limit + 1 }),
    "list events",
  );
  const page = rows.slice(0, limit);
  return {
    events: page.map(viewEvent),
    next: rows.length > limit ? page.at(-1)!.id : null,
  };
}
