/**
 * The positions of events in the order of all events, and statements that read from a position on.
 */

import { columnNames } from "../records/columns.ts";
import type { Sql } from "../connection/database.ts";
import { EVENT_COLUMNS, type GatewayEvent } from "./events.ts";
import type { Fragment } from "../records/list_walk.ts";

/** 1, 2, 3, … in the order of all events. */
export type EventPosition = number;

export const BEFORE_ALL: EventPosition = 0;

export interface PositionedEvent extends GatewayEvent {
  position: EventPosition;
}

/**
 * The only row of the table. While a transaction is open, PostgreSQL keeps all former versions of
 * the row, which have lower positions: this reads only the current one.
 */
export function publication(sql: Sql): Fragment {
  return sql`(
    select * from gateway.event_publication order by last_position desc limit 1
  ) publication`;
}

/** Every event that is committed after this call comes after this position. */
export async function findLastPosition(sql: Sql): Promise<EventPosition> {
  const [row] = await sql<[{ last_position: number }]>`
    select last_position from ${publication(sql)}`;
  return row.last_position;
}

/**
 * The position of an event; null: the event does not exist, or belongs to another user;
 * "unpublished": it has no position yet.
 */
export async function findPosition(
  sql: Sql,
  eventId: string,
  userId: string | null,
): Promise<EventPosition | null | "unpublished"> {
  const [row] = await sql<[{ position: number | null }?]>`
    select published.position from gateway.events event
    left join gateway.published_events published on published.event_id = event.id
    where event.id = ${eventId} and (${userId}::text is null or event.user_id = ${userId})`;
  return row ? row.position ?? "unpublished" : null;
}

/** The id of the newest event up to a position, or null. `userId` null: the events of all users. */
export async function findNewestUpTo(
  sql: Sql,
  position: EventPosition,
  userId: string | null,
): Promise<string | null> {
  const [row] = userId === null
    ? await sql<[{ event_id: string }?]>`
      select event_id from gateway.published_events where position <= ${position}
      order by position desc limit 1`
    : await sql<[{ event_id: string }?]>`
      select event_id from gateway.published_events
      where user_id = ${userId} and position <= ${position}
      order by user_id desc, position desc limit 1`;
  return row?.event_id ?? null;
}

/** Null: any value. */
export interface EventSelector {
  names: readonly string[] | null;
  resourceId: string | null;
  userId: string | null;
}

export interface EventBatch {
  events: PositionedEvent[];
  /** All events up to this position were read. */
  end: EventPosition;
  /** Whether all published events have been read. */
  isLast: boolean;
}

/** Limits how many rows one call reads to find matching ones, and so how long it takes. */
const MAX_ROWS_READ = 1_000;

interface FoundRow extends PositionedEvent {
  last_position: number;
  is_wanted: boolean;
  number: number;
}

/**
 * Reads events by their positions, oldest first. Each kind of selector has its own index; the rows
 * that the index finds are filtered by the other conditions. If too many rows do not match, fewer
 * than `limit` events are returned, and `end` says how far the statement has read.
 */
export async function readEventsAfter(
  sql: Sql,
  position: EventPosition,
  selector: EventSelector,
  limit: number,
): Promise<EventBatch> {
  const { names, userId } = selector;
  const nameArray = names && sql.array([...names]);
  const columns = sql(columnNames(EVENT_COLUMNS).map((name) => `event.${name}`));
  const rows = await sql<FoundRow[]>`
    select publication.last_position, found.*
    from ${publication(sql)} left join lateral (
      select ${columns}, candidate.position,
        (${nameArray}::text[] is null or event.name = any(${nameArray}::text[]))
          and (${userId}::text is null or event.user_id = ${userId}) as is_wanted,
        row_number() over (order by candidate.position) as number
      from (${candidatesSql(sql, position, selector, limit)}) candidate
      join gateway.events event on event.id = candidate.event_id
    ) found on found.is_wanted or found.number = ${MAX_ROWS_READ}
    order by found.position
    limit ${limit}`;
  return toEventBatch(rows, limit);
}

function candidatesSql(
  sql: Sql,
  position: EventPosition,
  { names, resourceId, userId }: EventSelector,
  limit: number,
) {
  if (resourceId !== null) {
    return sql`
      select published.event_id, published.position
      from gateway.events event
      join gateway.published_events published on published.event_id = event.id
      where event.resource_id = ${resourceId} and published.position > ${position}
      order by event.resource_id, event.sequence limit ${MAX_ROWS_READ}`;
  }
  // The user or the name is part of the row value, so that only the index by user or by name fits.
  if (userId !== null) {
    return sql`
      select event_id, position from gateway.published_events
      where (user_id, position) > (${userId}::text, ${position}) and user_id <= ${userId}
      order by user_id, position limit ${names === null ? limit : MAX_ROWS_READ}`;
  }
  if (names !== null) {
    return sql`
      select of_name.* from unnest(${sql.array([...new Set(names)])}::text[]) wanted (wanted_name),
      lateral (
        select event_id, position from gateway.published_events
        where (name, position) > (wanted_name, ${position}) and name <= wanted_name
        order by name, position limit ${limit}
      ) of_name`;
  }
  return sql`
    select event_id, position from gateway.published_events
    where position > ${position} order by position limit ${limit}`;
}

function toEventBatch(rows: readonly FoundRow[], limit: number): EventBatch {
  const { last_position } = rows[0]!;
  const last = rows.at(-1)!;
  // If nothing is found there is still one row, with the last position.
  const isLast = last.id === null || (rows.length < limit && last.number < MAX_ROWS_READ);
  return {
    events: rows.filter(({ is_wanted }) => is_wanted),
    end: isLast ? last_position : last.position,
    isLast,
  };
}
