/**
 * Events: the model, and the statements that list them and wake the publisher. They are inserted
 * in the statement of the change they report, by `side_effects.ts`.
 */

import { columnNames, fixed, type RowOf } from "../records/columns.ts";
import type { Sql } from "../connection/database.ts";
import { MAX_EXAMINED, type WalkedPage } from "../records/list_walk.ts";
import type { Resource } from "../records/records.ts";
import { isStillRegistered } from "./handlers.ts";

export const EVENT_COLUMNS = {
  id: fixed<string>(),
  name: fixed<string>(),
  resource: fixed<Resource | "webhook_endpoint" | "attention">(),
  resource_id: fixed<string>(),
  /** 1, 2, 3, … per resource; after a restore from a backup with a gap. */
  sequence: fixed<number>(),
  user_id: fixed<string | null>(),
  /** The resource as it was after the change. */
  data: fixed<object>(),
  created_at: fixed<Date>(),
};

export interface GatewayEvent extends RowOf<typeof EVENT_COLUMNS> {}

export const NEW_EVENT_COLUMNS = {
  ...EVENT_COLUMNS,
  /** The tasks that deliver the event to in-process handlers of the instance that wrote it. */
  subscribers: fixed<string[]>(),
};

export interface NewEvent extends RowOf<typeof NEW_EVENT_COLUMNS> {}

/** Null, or a missing member: any value. */
export interface EventFilter {
  /** One of these. */
  names: readonly string[] | null;
  resourceId: string | null;
  /** Inclusive. */
  createdFrom?: EventTime;
  /** Exclusive. */
  createdTo?: EventTime;
  order: EventOrder;
  /** Only events that come after this one in `order`. This event may have been deleted already. */
  after: string | null;
  limit: number;
}

/**
 * A time, and an id by which PostgreSQL finds the position of that time: see `CREATION_SLACK_MS`.
 */
export interface EventTime {
  time: Date;
  /**
   * The lowest id that an event can have if it was created at `time` minus the slack
   * (`createdFrom`) or at `time` plus the slack (`createdTo`).
   */
  nearId: string;
}

/**
 * Positions follow the order of commits, not of creation. Two events can have the opposite order
 * only if they were created at most this long after each other: the deadline of a statement plus
 * the difference between the clocks of two instances. A list of a time range first reads a range
 * that is longer by this time on each side, and then leaves out the events outside of its range.
 */
export const CREATION_SLACK_MS = 10_000;

export type EventOrder = "newest_first" | "oldest_first";

const LAST_SEQUENCE = 2 ** 31 - 1;

/**
 * Lists events that have a position. Events that are published later get higher positions, so the
 * order never changes. If the event `after` was pruned, an ascending list starts with the oldest
 * event, and a descending list is empty. If it has no position yet, a list of all resources is
 * empty. Each kind of list has its own index (see `newestInRange` in `list_walk.ts`).
 */
export async function listEvents(
  sql: Sql,
  filter: EventFilter,
): Promise<WalkedPage<GatewayEvent>> {
  return filter.resourceId === null
    ? await listOfAll(sql, filter)
    : { rows: await listOfResource(sql, filter, filter.resourceId), examinedTo: null };
}

/** Above every position. */
const LAST_POSITION = "9223372036854775807";

async function listOfAll(sql: Sql, filter: EventFilter): Promise<WalkedPage<GatewayEvent>> {
  const { names, order, after, limit, createdFrom, createdTo } = filter;
  const isAscending = order === "oldest_first";
  const direction = isAscending ? sql`asc` : sql`desc`;
  const isFiltered = createdFrom !== undefined || createdTo !== undefined;
  const examined = isFiltered ? Math.max(MAX_EXAMINED, limit) : limit;
  const [nameColumn, nameValue, nameOrder] = names === null
    ? [sql``, sql``, sql``]
    : [sql`name,`, sql`wanted.name,`, sql`name ${direction},`];
  const wanted = names === null
    ? sql``
    : sql`cross join unnest(${sql.array([...names])}::text[]) wanted(name)`;
  const cursor = sql`cursor_position.position`;
  const low = isAscending && after !== null ? cursor : sql`0::bigint`;
  const high = !isAscending && after !== null ? cursor : sql`${LAST_POSITION}::bigint`;
  const rows = await sql<(GatewayEvent & { examined_to: string | null })[]>`
    with cursor_position as (
      select position from gateway.published_events where event_id = ${after}::uuid
      union all
      select 0 where not exists (select from gateway.events where id = ${after}::uuid)
    ), bound as materialized (
      -- One bound on each side: given two lower bounds, PostgreSQL may start reading at the lower one.
      select greatest(${low}, ${positionBefore(sql, createdFrom)}) as low,
        least(${high}, ${positionAfter(sql, createdTo)}) as high
      from cursor_position
    ), candidate as materialized (
      select published.event_id, published.position
      from bound ${wanted} cross join lateral (
        select event_id, position from gateway.published_events
        where (${nameColumn} position) > (${nameValue} ${
    isAscending ? sql`bound.low` : sql`0::bigint`
  })
          and (${nameColumn} position)
            < (${nameValue} ${isAscending ? sql`${LAST_POSITION}::bigint` : sql`bound.high`})
        order by ${nameOrder} position ${direction}
        limit ${examined}
      ) published
      -- After the limit, as \`newestInRange\` in \`list_walk.ts\` explains.
      where published.position > bound.low and published.position < bound.high
      order by published.position ${direction} limit ${examined}
    ), last as materialized (
      select event_id from candidate order by position ${direction} offset ${examined - 1} limit 1
    ), found as materialized (
      select candidate.position, event.*
      from candidate cross join lateral (
        select * from gateway.events where id = candidate.event_id limit 1
      ) event
      where (${createdFrom?.time ?? null}::timestamptz is null
          or event.created_at >= ${createdFrom?.time ?? null})
        and (${createdTo?.time ?? null}::timestamptz is null
          or event.created_at < ${createdTo?.time ?? null})
      order by candidate.position ${direction} limit ${limit}
    )
    select ${foundColumns(sql, "found")}, last.event_id as examined_to
    from (select) as always left join found on true left join last on true
    order by found.position ${direction}`;
  const found = rows.filter(({ id }) => id !== null);
  const examinedTo = isFiltered && found.length < limit ? rows[0]?.examined_to ?? null : null;
  return {
    rows: found.map(({ examined_to: _, ...event }) => event),
    examinedTo: examinedTo === null ? null : { id: examinedTo, at: null },
  };
}

/**
 * How many events near a time are read to find one with a position: the newest events may have none
 * yet. With a limit, PostgreSQL reads `events` before `published_events`.
 */
const MAX_NEAR = 50;

/**
 * A position below those of all events that were created at this time or later: the position of an
 * older event. That of the first event would be wrong, because a later event can have a lower one.
 */
function positionBefore(sql: Sql, time: EventTime | undefined) {
  if (time === undefined) return sql`0::bigint`;
  return sql`coalesce(
      (
        select published.position
        from (
          select id from gateway.events where id < ${time.nearId}::uuid
          order by id desc limit ${MAX_NEAR}
        ) event cross join lateral (
          select position from gateway.published_events where event_id = event.id limit 1
        ) published
        order by event.id desc limit 1
      ),
      -- If older events have no position yet, no event of the range has one.
      case when (select id from gateway.events order by id limit 1) < ${time.nearId}::uuid
        then ${LAST_POSITION}::bigint else 0 end
    )`;
}

/** A position above all events that were created before this time. */
function positionAfter(sql: Sql, time: EventTime | undefined) {
  if (time === undefined) return sql`${LAST_POSITION}::bigint`;
  return sql`coalesce((
      select published.position
      from (
        select id from gateway.events where id >= ${time.nearId}::uuid
        order by id limit ${MAX_NEAR}
      ) event cross join lateral (
        select position from gateway.published_events where event_id = event.id limit 1
      ) published
      order by event.id limit 1
    ), ${LAST_POSITION}::bigint)`;
}

/**
 * A resource's events are written one after the other, so their sequence is their order in all
 * lists.
 */
async function listOfResource(
  sql: Sql,
  { names, order, after, limit, createdFrom, createdTo }: EventFilter,
  resourceId: string,
): Promise<GatewayEvent[]> {
  const wanted = names && sql.array([...names]);
  const from = createdFrom?.time ?? null;
  const to = createdTo?.time ?? null;
  const isAscending = order === "oldest_first";
  const direction = isAscending ? sql`asc` : sql`desc`;
  const position = after === null
    ? null
    : sql`coalesce((select sequence from gateway.events where id = ${after}), 0)`;
  return await sql<GatewayEvent[]>`
    select ${foundColumns(sql, "found")} from gateway.events found
    where (resource_id, sequence) > (${resourceId}::uuid, ${isAscending && position ? position : 0})
      and (resource_id, sequence)
        < (${resourceId}::uuid, ${!isAscending && position ? position : LAST_SEQUENCE})
      and (select position from gateway.published_events where event_id = found.id) is not null
      and (${wanted}::text[] is null or name = any(${wanted}))
      and (${from}::timestamptz is null or created_at >= ${from})
      and (${to}::timestamptz is null or created_at < ${to})
    order by resource_id ${direction}, sequence ${direction} limit ${limit}`;
}

function foundColumns(sql: Sql, table: string) {
  return sql(columnNames(EVENT_COLUMNS).map((name) => `${table}.${name}`));
}

/** An event that has no position yet is found, too. */
export async function findEvent(sql: Sql, id: string): Promise<GatewayEvent | null> {
  const [event] = await sql<[GatewayEvent?]>`
    select ${foundColumns(sql, "found")} from gateway.events found where id = ${id}`;
  return event ?? null;
}

export interface EventsFrom {
  resourceId: string;
  sequence: number;
  /** The task of a handler. */
  task: string;
  /** The events that the handler gets on this instance. */
  names: readonly string[];
  limit: number;
}

/**
 * A resource's events for a handler, from a sequence number on, in the order of their sequence.
 * Includes the events that only other instances handle, such as instances of a newer
 * version. Leaves out events that have no delivery job yet.
 */
export async function listEventsFrom(
  sql: Sql,
  { resourceId, sequence, task, names, limit }: EventsFrom,
): Promise<GatewayEvent[]> {
  return await sql<GatewayEvent[]>`
    select ${foundColumns(sql, "event")} from gateway.events event
    where (resource_id, sequence) >= (${resourceId}::uuid, ${sequence})
      and (resource_id, sequence) < (${resourceId}::uuid, ${LAST_SEQUENCE})
      and (name = any(${sql.array([...names])}::text[])
        or exists (select from gateway.subscribers
          where task = ${task} and event_name = event.name and ${isStillRegistered(sql)}))
      -- An event gets its delivery job together with its position.
      and (select position from gateway.published_events where event_id = event.id) is not null
    order by resource_id, sequence limit ${limit}`;
}

/** The publisher listens on this channel. */
export const COMMITTED_CHANNEL = "gateway_events";

/** Followers listen on this channel. */
export const PUBLISHED_CHANNEL = "gateway_published_events";

/**
 * Wakes the publisher, because events were committed. Never call it in the transaction of an event:
 * of the transactions that call `pg_notify`, PostgreSQL commits only one at a time.
 */
export async function signalPublisher(sql: Sql): Promise<void> {
  await sql`select pg_notify(${COMMITTED_CHANNEL}, '')`;
}
