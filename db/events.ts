/**
 * Events: the model, and the statements that list them and notify the publisher. They are inserted in the
 * statement of the change they report, by `side_effects.ts`.
 */

import { NIL } from "uuid";
import { columnNames, fixed, type RowOf } from "./columns.ts";
import type { Sql } from "./database.ts";
import type { Resource } from "./records.ts";

export const EVENT_COLUMNS = {
  id: fixed<string>(),
  name: fixed<string>(),
  resource: fixed<Resource | "webhook_endpoint">(),
  resource_id: fixed<string>(),
  /** 1, 2, 3, … per resource. */
  sequence: fixed<number>(),
  user_id: fixed<string | null>(),
  /** The resource as it was after the change. */
  data: fixed<object>(),
  created_at: fixed<Date>(),
};

export interface GatewayEvent extends RowOf<typeof EVENT_COLUMNS> {}

export const NEW_EVENT_COLUMNS = {
  ...EVENT_COLUMNS,
  /**
   * The tasks that deliver the event to in-process subscribers. Null: an instance of version 1.0 wrote
   * the event together with all its deliveries.
   */
  subscribers: fixed<string[]>(),
};

export interface NewEvent extends RowOf<typeof NEW_EVENT_COLUMNS> {}

/** Null: any value. */
export interface EventFilter {
  name: string | null;
  resourceId: string | null;
  order: EventOrder;
  /** Only events that come after this one in that order. The event with this id may be deleted. */
  before: string | null;
  limit: number;
}

export type EventOrder = "newest_first" | "oldest_first";

const LAST_SEQUENCE = 2 ** 31 - 1;

/**
 * Lists events that have a position. Events that are published later get higher positions, so the
 * order never changes. If the event `before` was pruned, an ascending list starts with the oldest
 * event, and a descending list is empty. If it has no position yet, the list is empty.
 * Each kind of list has its own index (see `listByIndex` in `payment_statements.ts`).
 */
export async function listEvents(sql: Sql, filter: EventFilter): Promise<GatewayEvent[]> {
  return filter.resourceId === null
    ? await listOfAll(sql, filter)
    : await listOfResource(sql, filter, filter.resourceId);
}

/** Above every position. */
const LAST_POSITION = "9223372036854775807";

async function listOfAll(
  sql: Sql,
  { name, order, before, limit }: EventFilter,
): Promise<GatewayEvent[]> {
  const isAscending = order === "oldest_first";
  const direction = isAscending ? sql`asc` : sql`desc`;
  const [nameColumn, nameValue, nameOrder] = name === null
    ? [sql``, sql``, sql``]
    : [sql`name,`, sql`${name}::text,`, sql`name ${direction},`];
  // One bound on each side: given two lower bounds, PostgreSQL may start reading at the lower one.
  const low = isAscending && before !== null ? sql`cursor_position.position` : sql`0::bigint`;
  const high = !isAscending && before !== null
    ? sql`cursor_position.position`
    : sql`${LAST_POSITION}::bigint`;
  return await sql<GatewayEvent[]>`
    with cursor_position as (
      select position from gateway.published_events where event_id = ${before}::uuid
      union all
      select 0 where not exists (select from gateway.events where id = ${before}::uuid)
    )
    select ${foundColumns(sql, "event")}
    from cursor_position,
    lateral (
      select event_id, position from gateway.published_events
      where (${nameColumn} position) > (${nameValue} ${low})
        and (${nameColumn} position) < (${nameValue} ${high})
      order by ${nameOrder} position ${direction}
      limit ${limit}
    ) published
    join gateway.events event on event.id = published.event_id
    order by published.position ${direction}`;
}

/** A resource's events are written one after the other, so their sequence is their order in all lists. */
async function listOfResource(
  sql: Sql,
  { name, order, before, limit }: EventFilter,
  resourceId: string,
): Promise<GatewayEvent[]> {
  const isAscending = order === "oldest_first";
  const direction = isAscending ? sql`asc` : sql`desc`;
  const position = before === null
    ? null
    : sql`coalesce((select sequence from gateway.events where id = ${before}), 0)`;
  return await sql<GatewayEvent[]>`
    select ${foundColumns(sql, "found")} from gateway.events found
    where (resource_id, sequence) > (${resourceId}::uuid, ${isAscending && position ? position : 0})
      and (resource_id, sequence)
        < (${resourceId}::uuid, ${!isAscending && position ? position : LAST_SEQUENCE})
      and (select position from gateway.published_events where event_id = found.id) is not null
      and (${name}::text is null or name = ${name})
    order by resource_id ${direction}, sequence ${direction} limit ${limit}`;
}

function foundColumns(sql: Sql, table: string) {
  return sql(columnNames(EVENT_COLUMNS).map((name) => `${table}.${name}`));
}

export interface EventsFrom {
  resourceId: string;
  sequence: number;
  names: readonly string[];
  limit: number;
}

/**
 * A resource's events with these names, from a sequence number on, in the order of their sequence.
 * Leaves out events that have no delivery job yet.
 */
export async function listEventsFrom(
  sql: Sql,
  { resourceId, sequence, names, limit }: EventsFrom,
): Promise<GatewayEvent[]> {
  return await sql<GatewayEvent[]>`
    select ${foundColumns(sql, "event")} from gateway.events event
    where (resource_id, sequence) >= (${resourceId}::uuid, ${sequence})
      and (resource_id, sequence) < (${resourceId}::uuid, ${LAST_SEQUENCE})
      and name = any(${sql.array([...names])}::text[])
      -- An event gets its delivery job together with its position. An event of an earlier version
      -- (null) was written together with its job.
      and (event.subscribers is null
        or (select position from gateway.published_events where event_id = event.id) is not null)
    order by resource_id, sequence limit ${limit}`;
}

/**
 * The generation of new events. The publisher finds new events by the server's transaction number. A
 * database that was restored on another server continues with that server's numbers, which may be
 * lower; so its new events get the next generation.
 */
export function currentGeneration(sql: Sql) {
  return sql`(
    select pg_get_expr(adbin, adrelid)::integer
    from pg_attribute join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attrelid = 'gateway.events'::regclass and attname = 'generation')`;
}

/** Whether events or the publisher's state have transaction numbers that this server has not reached. */
export async function hasEventsOfOtherServer(sql: Sql): Promise<boolean> {
  const rows = await sql`
    select from gateway.events
    where (generation, xact_id, id) >= (
      ${currentGeneration(sql)}, pg_snapshot_xmax(pg_current_snapshot()), ${NIL}::uuid)
    union all
    select from gateway.event_publication
    where generation = ${currentGeneration(sql)}
      and pg_snapshot_xmax(coalesce(target, snapshot)) > pg_snapshot_xmax(pg_current_snapshot())
    limit 1`;
  return rows.length > 0;
}

/**
 * Begins a new generation. Call it in a transaction: of several instances that start at the same time,
 * only one then begins it.
 */
export async function beginGeneration(sql: Sql): Promise<void> {
  await sql`lock table gateway.events in access exclusive mode`;
  if (!await hasEventsOfOtherServer(sql)) return;
  const [row] = await sql<[{ next: number }]>`select ${currentGeneration(sql)} + 1 as next`;
  await sql.unsafe(`alter table gateway.events alter generation set default ${row.next}`);
}

/** The publisher listens on this channel. */
export const COMMITTED_CHANNEL = "gateway_events";

/** Followers listen on this channel. */
export const PUBLISHED_CHANNEL = "gateway_published_events";

/**
 * Notifies the publisher that events were committed. Never call it in the transaction of an event:
 * PostgreSQL commits transactions that notify one at a time.
 */
export async function notifyPublisher(sql: Sql): Promise<void> {
  await sql`select pg_notify(${COMMITTED_CHANNEL}, '')`;
}
