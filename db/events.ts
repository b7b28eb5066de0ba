/**
 * Events: the model, and the statements that list them and notify followers. They are inserted in the
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

/** Null stands for any value. */
export interface EventFilter {
  name: string | null;
  resourceId: string | null;
  order: EventOrder;
  /** Only events that come after the event with this id in that order; it may have been deleted. */
  before: string | null;
  limit: number;
}

export type EventOrder = "newest_first" | "oldest_first";

const LAST_SEQUENCE = 2 ** 31 - 1;

/**
 * Lists stable events: those of transactions that began before every transaction that still runs.
 * Events that are committed later come after them, so the order of stable events never changes.
 * If the event `before` was pruned, an ascending list starts with the oldest event, and a descending
 * list is empty.
 * Each kind of list has its own index (see `listByIndex` in `payment_statements.ts`).
 */
export async function listEvents(sql: Sql, filter: EventFilter): Promise<GatewayEvent[]> {
  return filter.resourceId === null
    ? await listOfAll(sql, filter)
    : await listOfResource(sql, filter, filter.resourceId);
}

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
  const position = before === null ? null : sql`cursor_position`;
  const low = isAscending && position ? position : sql`start`;
  const high = !isAscending && position ? position : sql`stable`;
  return await sql<GatewayEvent[]>`
    with start as (
      select 0 as generation, '0'::xid8 as xact_id, ${NIL}::uuid as id
    ), stable as (
      select ${currentGeneration(sql)} as generation,
        pg_snapshot_xmin(pg_current_snapshot()) as xact_id, ${NIL}::uuid as id
    ), cursor_position as (
      select event.generation, event.xact_id, event.id from gateway.events event, stable
      where event.id = ${before}::uuid
        and (event.generation, event.xact_id) < (stable.generation, stable.xact_id)
      union all
      select generation, xact_id, id from start
      where not exists (select from gateway.events where id = ${before}::uuid)
    )
    select ${foundColumns(sql)}
    from ${low} low, ${high} high,
    lateral (
      select * from gateway.events
      where (${nameColumn} generation, xact_id, id)
          > (${nameValue} low.generation, low.xact_id, low.id)
        and (${nameColumn} generation, xact_id, id)
          < (${nameValue} high.generation, high.xact_id, high.id)
      order by ${nameOrder} generation ${direction}, xact_id ${direction}, id ${direction}
      limit ${limit}
    ) found
    order by found.generation ${direction}, found.xact_id ${direction}, found.id ${direction}`;
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
    select ${foundColumns(sql)} from gateway.events found
    where (resource_id, sequence) > (${resourceId}::uuid, ${isAscending && position ? position : 0})
      and (resource_id, sequence)
        < (${resourceId}::uuid, ${!isAscending && position ? position : LAST_SEQUENCE})
      and (generation, xact_id)
        < (${currentGeneration(sql)}, pg_snapshot_xmin(pg_current_snapshot()))
      and (${name}::text is null or name = ${name})
    order by resource_id ${direction}, sequence ${direction} limit ${limit}`;
}

function foundColumns(sql: Sql) {
  return sql(columnNames(EVENT_COLUMNS).map((name) => `found.${name}`));
}

export interface EventsFrom {
  resourceId: string;
  sequence: number;
  names: readonly string[];
  limit: number;
}

/** A resource's events of these names, from one sequence number on, in that order. */
export async function listEventsFrom(
  sql: Sql,
  { resourceId, sequence, names, limit }: EventsFrom,
): Promise<GatewayEvent[]> {
  return await sql<GatewayEvent[]>`
    select ${sql(columnNames(EVENT_COLUMNS))} from gateway.events
    where (resource_id, sequence) >= (${resourceId}::uuid, ${sequence})
      and (resource_id, sequence) < (${resourceId}::uuid, ${LAST_SEQUENCE})
      and name = any(${sql.array([...names])}::text[])
    order by resource_id, sequence limit ${limit}`;
}

/**
 * The generation of new events. Events are ordered by the server's transaction number. A database
 * that was restored on another server continues with that server's numbers, which may be lower; so
 * its new events get the next generation.
 */
export function currentGeneration(sql: Sql) {
  return sql`(
    select pg_get_expr(adbin, adrelid)::integer
    from pg_attribute join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attrelid = 'gateway.events'::regclass and attname = 'generation')`;
}

/** Whether there are events with transaction numbers that this server has not reached yet. */
export async function hasEventsOfOtherServer(sql: Sql): Promise<boolean> {
  const rows = await sql`
    select from gateway.events
    where (generation, xact_id, id) >= (
      ${currentGeneration(sql)}, pg_snapshot_xmax(pg_current_snapshot()), ${NIL}::uuid)
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

/** Followers listen on this channel. */
export const EVENTS_CHANNEL = "gateway_events";

/**
 * Notifies followers that events were committed. Never call it in the transaction of an event:
 * PostgreSQL commits transactions that notify one at a time.
 */
export async function notifyFollowers(sql: Sql): Promise<void> {
  await sql`select pg_notify(${EVENTS_CHANNEL}, '')`;
}
