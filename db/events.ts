/** Events: the model, and the statements that list them and notify followers. Events are inserted by `side_effects.ts`. */

import { NIL } from "uuid";
import type { Sql } from "./database.ts";
import type { Resource } from "./records.ts";

export interface GatewayEvent {
  id: string;
  name: string;
  resource: Resource | "webhook_endpoint";
  resource_id: string;
  /** 1, 2, 3, … for each resource. */
  sequence: number;
  user_id: string | null;
  /** The resource as it was after the change. */
  data: object;
  created_at: Date;
}

export const EVENT_COLUMNS = [
  "id",
  "name",
  "resource",
  "resource_id",
  "sequence",
  "user_id",
  "data",
  "created_at",
] as const satisfies readonly (keyof GatewayEvent)[];

export interface EventFilter {
  /** Null: of whichever name. */
  name: string | null;
  /** Null: of whichever resource. */
  resourceId: string | null;
  order: EventOrder;
  /** Only those that come after this one, in that order; it may be gone. */
  before: string | null;
  limit: number;
}

export type EventOrder = "newest_first" | "oldest_first";

const LAST_SEQUENCE = 2 ** 31 - 1;

/**
 * Only what is settled: events of transactions that began before every one that still runs. All that
 * can still come, comes after them, and so the order in which they are read never changes. After one
 * that was deleted for its age comes the oldest that is left; before it nothing is.
 * Each kind of list is found by an index of its own (see `listPayments` for the way it is asked for).
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
  const isUp = order === "oldest_first";
  const direction = isUp ? sql`asc` : sql`desc`;
  const [ofName, theName, byName] = name === null
    ? [sql``, sql``, sql``]
    : [sql`name,`, sql`${name}::text,`, sql`name ${direction},`];
  // One bound on either side: of two, PostgreSQL might begin at the farther one.
  const place = before === null ? null : sql`place`;
  return await sql<GatewayEvent[]>`
    with start as (
      select 0 as generation, '0'::xid8 as xact_id, ${NIL}::uuid as id
    ), settled as (
      select ${currentGeneration(sql)} as generation,
        pg_snapshot_xmin(pg_current_snapshot()) as xact_id, ${NIL}::uuid as id
    ), place as (
      select event.generation, event.xact_id, event.id from gateway.events event, settled
      where event.id = ${before}::uuid
        and (event.generation, event.xact_id) < (settled.generation, settled.xact_id)
      union all
      select generation, xact_id, id from start
      where not exists (select from gateway.events where id = ${before}::uuid)
    )
    select ${found(sql)}
    from ${isUp && place ? place : sql`start`} low, ${!isUp && place ? place : sql`settled`} high,
    lateral (
      select * from gateway.events
      where (${ofName} generation, xact_id, id) > (${theName} low.generation, low.xact_id, low.id)
        and (${ofName} generation, xact_id, id) < (${theName} high.generation, high.xact_id, high.id)
      order by ${byName} generation ${direction}, xact_id ${direction}, id ${direction}
      limit ${limit}
    ) found
    order by found.generation ${direction}, found.xact_id ${direction}, found.id ${direction}`;
}

/** The events of one resource are written one after the other: their own order is that of all. */
async function listOfResource(
  sql: Sql,
  { name, order, before, limit }: EventFilter,
  resourceId: string,
): Promise<GatewayEvent[]> {
  const isUp = order === "oldest_first";
  const direction = isUp ? sql`asc` : sql`desc`;
  const place = before === null
    ? null
    : sql`coalesce((select sequence from gateway.events where id = ${before}), 0)`;
  return await sql<GatewayEvent[]>`
    select ${found(sql)} from gateway.events found
    where (resource_id, sequence) > (${resourceId}::uuid, ${isUp && place ? place : 0})
      and (resource_id, sequence)
        < (${resourceId}::uuid, ${!isUp && place ? place : LAST_SEQUENCE})
      and (generation, xact_id)
        < (${currentGeneration(sql)}, pg_snapshot_xmin(pg_current_snapshot()))
      and (${name}::text is null or name = ${name})
    order by resource_id ${direction}, sequence ${direction} limit ${limit}`;
}

function found(sql: Sql) {
  return sql(EVENT_COLUMNS.map((name) => `found.${name}`));
}

export interface EventsFrom {
  resourceId: string;
  sequence: number;
  names: readonly string[];
  limit: number;
}

/** A resource's events of these names from one in the sequence on, in their order. */
export async function listEventsFrom(
  sql: Sql,
  { resourceId, sequence, names, limit }: EventsFrom,
): Promise<GatewayEvent[]> {
  return await sql<GatewayEvent[]>`
    select ${sql(EVENT_COLUMNS)} from gateway.events
    where (resource_id, sequence) >= (${resourceId}::uuid, ${sequence})
      and (resource_id, sequence) < (${resourceId}::uuid, ${LAST_SEQUENCE})
      and name = any(${sql.array([...names])}::text[])
    order by resource_id, sequence limit ${limit}`;
}

/** The one that new events belong to. */
export function currentGeneration(sql: Sql) {
  return sql`(
    select pg_get_expr(adbin, adrelid)::integer
    from pg_attribute join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attrelid = 'gateway.events'::regclass and attname = 'generation')`;
}

/**
 * Whether events were brought here from a server that had come further: an event that can be seen,
 * of a transaction that there has not been.
 */
export async function isFromElsewhere(sql: Sql): Promise<boolean> {
  const rows = await sql`
    select from gateway.events
    where (generation, xact_id, id) >= (
      ${currentGeneration(sql)}, pg_snapshot_xmax(pg_current_snapshot()), ${NIL}::uuid)
    limit 1`;
  return rows.length > 0;
}

/** In a transaction: of many instances that start at once one does it. */
export async function beginGeneration(sql: Sql): Promise<void> {
  await sql`lock table gateway.events in access exclusive mode`;
  if (!await isFromElsewhere(sql)) return;
  const [row] = await sql<[{ next: number }]>`select ${currentGeneration(sql)} + 1 as next`;
  await sql.unsafe(`alter table gateway.events alter generation set default ${row.next}`);
}

/** Those who follow events listen to it. */
export const EVENTS_CHANNEL = "gateway_events";

export async function tellFollowers(sql: Sql): Promise<void> {
  await sql`select pg_notify(${EVENTS_CHANNEL}, '')`;
}
