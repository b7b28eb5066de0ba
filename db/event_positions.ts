/** The positions of events in the order of all events, and statements that read from a position on. */

import { NIL } from "uuid";
import { columnNames } from "./columns.ts";
import type { Sql } from "./database.ts";
import { currentGeneration, EVENT_COLUMNS, type GatewayEvent } from "./events.ts";

/** The position of an event, or a position between two events. */
export interface EventPosition {
  generation: number;
  xactId: bigint;
  id: string;
}

export const BEFORE_ALL: EventPosition = { generation: 0, xactId: 0n, id: NIL };

export interface PositionedEvent extends GatewayEvent {
  position: EventPosition;
}

export function isAfter(one: EventPosition, other: EventPosition): boolean {
  if (one.generation !== other.generation) return one.generation > other.generation;
  return one.xactId !== other.xactId ? one.xactId > other.xactId : one.id > other.id;
}

interface PositionRow {
  generation: number;
  xact_id: string;
  id: string;
}

/** Every event that is committed after this call comes after this position. */
export async function findStablePosition(sql: Sql): Promise<EventPosition> {
  const [row] = await sql<[PositionRow]>`
    select ${currentGeneration(sql)} as generation,
      pg_snapshot_xmin(pg_current_snapshot()) as xact_id, ${NIL}::uuid as id`;
  return positionOf(row);
}

/** Null: the event does not exist, or belongs to another user. */
export async function findPosition(
  sql: Sql,
  eventId: string,
  userId: string | null,
): Promise<EventPosition | null> {
  const [row] = await sql<[PositionRow?]>`
    select generation, xact_id, id from gateway.events
    where id = ${eventId} and (${userId}::text is null or user_id = ${userId})`;
  return row ? positionOf(row) : null;
}

/** The id of the newest event before a position, of one user or (null) of all; null: there is none. */
export async function findNewestBefore(
  sql: Sql,
  { generation, xactId, id }: EventPosition,
  userId: string | null,
): Promise<string | null> {
  const isBefore = sql`
    (generation, xact_id, id) < (${generation}::integer, ${String(xactId)}::xid8, ${id}::uuid)`;
  const newestFirst = sql`generation desc, xact_id desc, id desc`;
  const [row] = userId === null
    ? await sql<[{ id: string }?]>`
      select id from gateway.events where ${isBefore} order by ${newestFirst} limit 1`
    : await sql<[{ id: string }?]>`
      select id from gateway.events where user_id = ${userId} and ${isBefore}
      order by user_id desc, ${newestFirst} limit 1`;
  return row?.id ?? null;
}

/** Null stands for any value. */
export interface EventSelector {
  names: readonly string[] | null;
  resourceId: string | null;
  userId: string | null;
}

export interface EventBatch {
  events: PositionedEvent[];
  /** Everything up to here was read. */
  end: EventPosition;
  /** Whether there are no further stable events. */
  isLast: boolean;
  /** Whether there are committed events that are not stable yet. */
  hasUnstable: boolean;
}

/** Limits how many rows one call reads to find matching ones, and so how long it takes. */
const MAX_ROWS_READ = 1_000;

interface FoundRow extends GatewayEvent, PositionRow {
  stable_generation: number;
  stable_xact_id: string;
  has_unstable: boolean;
  is_wanted: boolean;
  number: number;
}

/**
 * Reads stable events (see `listEvents`), oldest first. Each kind of selector has its own index; the
 * rows that the index finds are filtered by the other conditions. If too many rows do not match, fewer
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
  const rows = await sql<FoundRow[]>`
    with stable as materialized (
      select ${currentGeneration(sql)} as generation,
        pg_snapshot_xmin(pg_current_snapshot()) as xact_id
    )
    select stable.generation as stable_generation, stable.xact_id as stable_xact_id,
      exists (
        select from gateway.events
        where (generation, xact_id) >= (stable.generation, stable.xact_id)
      ) as has_unstable,
      found.*
    from stable left join lateral (
      select candidate.*,
        (${nameArray}::text[] is null or name = any(${nameArray}::text[]))
          and (${userId}::text is null or user_id = ${userId}) as is_wanted,
        row_number() over (order by generation, xact_id, id) as number
      from (${candidatesSql(sql, position, selector, limit)}) candidate
    ) found on found.is_wanted or found.number = ${MAX_ROWS_READ}
    order by found.generation, found.xact_id, found.id
    limit ${limit}`;
  return toEventBatch(rows, limit);
}

function candidatesSql(
  sql: Sql,
  position: EventPosition,
  { names, resourceId, userId }: EventSelector,
  limit: number,
) {
  const selected: string[] = [...columnNames(EVENT_COLUMNS), "generation", "xact_id"];
  const columns = sql(selected);
  const low = sql`${position.generation}::integer, ${
    String(position.xactId)
  }::xid8, ${position.id}::uuid`;
  const high = sql`stable.generation, stable.xact_id, ${NIL}::uuid`;
  if (resourceId !== null) {
    return sql`
      select ${columns} from gateway.events where resource_id = ${resourceId}
        and (generation, xact_id, id) > (${low}) and (generation, xact_id, id) < (${high})
      order by resource_id, sequence limit ${MAX_ROWS_READ}`;
  }
  // User and name are part of the row values, so that only their own index fits.
  if (userId !== null) {
    return sql`
      select ${columns} from gateway.events
      where (user_id, generation, xact_id, id) > (${userId}::text, ${low})
        and (user_id, generation, xact_id, id) < (${userId}::text, ${high})
      order by user_id, generation, xact_id, id
      limit ${names === null ? limit : MAX_ROWS_READ}`;
  }
  if (names !== null) {
    return sql`
      select of_name.* from unnest(${sql.array([...new Set(names)])}::text[]) wanted (wanted_name),
      lateral (
        select ${columns} from gateway.events
        where (name, generation, xact_id, id) > (wanted_name, ${low})
          and (name, generation, xact_id, id) < (wanted_name, ${high})
        order by name, generation, xact_id, id limit ${limit}
      ) of_name`;
  }
  return sql`
    select ${columns} from gateway.events
    where (generation, xact_id, id) > (${low}) and (generation, xact_id, id) < (${high})
    order by generation, xact_id, id limit ${limit}`;
}

function toEventBatch(rows: readonly FoundRow[], limit: number): EventBatch {
  const { stable_generation, stable_xact_id, has_unstable } = rows[0]!;
  const last = rows.at(-1)!;
  // If nothing is found there is still one row, with the stable position.
  const isLast = last.id === null || (rows.length < limit && last.number < MAX_ROWS_READ);
  const stable = { generation: stable_generation, xact_id: stable_xact_id, id: NIL };
  return {
    events: rows.filter(({ is_wanted }) => is_wanted)
      .map((row) => ({ ...row, position: positionOf(row) })),
    end: positionOf(isLast ? stable : last),
    isLast,
    hasUnstable: has_unstable,
  };
}

function positionOf({ generation, xact_id, id }: PositionRow): EventPosition {
  return { generation, xactId: BigInt(xact_id), id };
}
