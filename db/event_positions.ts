/** Where events stand among all others, and the statements that read on from there. */

import { NIL } from "uuid";
import type { Sql } from "./database.ts";
import { currentGeneration, EVENT_COLUMNS, type GatewayEvent } from "./events.ts";

/** Of an event, or between two of them. */
export interface Place {
  generation: number;
  xactId: bigint;
  id: string;
}

export const BEFORE_ALL: Place = { generation: 0, xactId: 0n, id: NIL };

export interface PlacedEvent extends GatewayEvent {
  place: Place;
}

export function isAfter(one: Place, other: Place): boolean {
  if (one.generation !== other.generation) return one.generation > other.generation;
  return one.xactId !== other.xactId ? one.xactId > other.xactId : one.id > other.id;
}

interface PlaceRow {
  generation: number;
  xact_id: string;
  id: string;
}

/** All that is committed after this was asked will come after it. */
export async function findSettledPlace(sql: Sql): Promise<Place> {
  const [row] = await sql<[PlaceRow]>`
    select ${currentGeneration(sql)} as generation,
      pg_snapshot_xmin(pg_current_snapshot()) as xact_id, ${NIL}::uuid as id`;
  return placeOf(row);
}

/** Null: it is gone, or not this user's. */
export async function findPlace(
  sql: Sql,
  eventId: string,
  userId: string | null,
): Promise<Place | null> {
  const [row] = await sql<[PlaceRow?]>`
    select generation, xact_id, id from gateway.events
    where id = ${eventId} and (${userId}::text is null or user_id = ${userId})`;
  return row ? placeOf(row) : null;
}

/** Of the newest before a place, be it of anybody (null); null: there is none. */
export async function findNewestBefore(
  sql: Sql,
  { generation, xactId, id }: Place,
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

/** Null: whichever. */
export interface EventChoice {
  names: readonly string[] | null;
  resourceId: string | null;
  /** Whose. */
  userId: string | null;
}

export interface EventReading {
  events: PlacedEvent[];
  /** Up to where everything was read. */
  end: Place;
  /** Whether that is all there is. */
  isAll: boolean;
  /** Whether there are events that are committed but not settled. */
  isMoreComing: boolean;
}

/** So many are looked at, at most, for those that are wanted: no reading takes long. */
const MOST_LOOKED_AT = 1_000;

interface FoundRow extends GatewayEvent, PlaceRow {
  settled_generation: number;
  settled_xact_id: string;
  is_more_coming: boolean;
  is_wanted: boolean;
  number: number;
}

/**
 * Only what is settled (see `listEvents`), oldest first. Each kind of choice is found by an index of
 * its own, and what that does not tell apart is looked through; where that were too many, the reading
 * ends before it has found as many as it may.
 */
export async function readEventsAfter(
  sql: Sql,
  place: Place,
  choice: EventChoice,
  limit: number,
): Promise<EventReading> {
  const { names, userId } = choice;
  const theNames = names && sql.array([...names]);
  const rows = await sql<FoundRow[]>`
    with settled as materialized (
      select ${currentGeneration(sql)} as generation,
        pg_snapshot_xmin(pg_current_snapshot()) as xact_id
    )
    select settled.generation as settled_generation, settled.xact_id as settled_xact_id,
      exists (
        select from gateway.events
        where (generation, xact_id) >= (settled.generation, settled.xact_id)
      ) as is_more_coming,
      found.*
    from settled left join lateral (
      select looked_at.*,
        (${theNames}::text[] is null or name = any(${theNames}::text[]))
          and (${userId}::text is null or user_id = ${userId}) as is_wanted,
        row_number() over (order by generation, xact_id, id) as number
      from (${lookingAt(sql, place, choice, limit)}) looked_at
    ) found on found.is_wanted or found.number = ${MOST_LOOKED_AT}
    order by found.generation, found.xact_id, found.id
    limit ${limit}`;
  return readingOf(rows, limit);
}

function lookingAt(
  sql: Sql,
  place: Place,
  { names, resourceId, userId }: EventChoice,
  limit: number,
) {
  const columns = sql([...EVENT_COLUMNS, "generation", "xact_id"]);
  const isBetween = sql`
    (generation, xact_id, id) > (
      ${place.generation}::integer, ${String(place.xactId)}::xid8, ${place.id}::uuid)
    and (generation, xact_id, id) < (settled.generation, settled.xact_id, ${NIL}::uuid)`;
  const inOrder = sql`order by generation, xact_id, id`;
  if (resourceId !== null) {
    return sql`
      select ${columns} from gateway.events where resource_id = ${resourceId} and ${isBetween}
      order by resource_id, sequence limit ${MOST_LOOKED_AT}`;
  }
  if (userId !== null) {
    return sql`
      select ${columns} from gateway.events where user_id = ${userId} and ${isBetween}
      ${inOrder} limit ${names === null ? limit : MOST_LOOKED_AT}`;
  }
  if (names !== null) {
    return sql`
      select of_name.* from unnest(${sql.array([...new Set(names)])}::text[]) wanted (wanted_name),
      lateral (
        select ${columns} from gateway.events where name = wanted_name and ${isBetween}
        ${inOrder} limit ${limit}
      ) of_name`;
  }
  return sql`select ${columns} from gateway.events where ${isBetween} ${inOrder} limit ${limit}`;
}

function readingOf(rows: readonly FoundRow[], limit: number): EventReading {
  const { settled_generation, settled_xact_id, is_more_coming } = rows[0]!;
  const last = rows.at(-1)!;
  // Without any there is one row all the same, which tells what is settled.
  const isAll = last.id === null || (rows.length < limit && last.number < MOST_LOOKED_AT);
  const settled = { generation: settled_generation, xact_id: settled_xact_id, id: NIL };
  return {
    events: rows.filter(({ is_wanted }) => is_wanted)
      .map((row) => ({ ...row, place: placeOf(row) })),
    end: placeOf(isAll ? settled : last),
    isAll,
    isMoreComing: is_more_coming,
  };
}

function placeOf({ generation, xact_id, id }: PlaceRow): Place {
  return { generation, xactId: BigInt(xact_id), id };
}
