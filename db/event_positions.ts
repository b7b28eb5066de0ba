/** The positions of events in the order of all events, and the statements that read from there on. */

import { NIL } from "uuid";
import { columnNames } from "./columns.ts";
import type { Sql } from "./database.ts";
import { currentGeneration, EVENT_COLUMNS, type GatewayEvent } from "./events.ts";

/** The position of an event, or one between two events. */
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

/** Every event that is committed after this call comes after this place. */
export async function findSettledPlace(sql: Sql): Promise<Place> {
  const [row] = await sql<[PlaceRow]>`
    select ${currentGeneration(sql)} as generation,
      pg_snapshot_xmin(pg_current_snapshot()) as xact_id, ${NIL}::uuid as id`;
  return placeOf(row);
}

/** Null: it was deleted, or belongs to another user. */
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

/** The id of the newest event before a place, of one user or (null) of all; null: there is none. */
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

/** Null stands for any value. */
export interface EventChoice {
  names: readonly string[] | null;
  resourceId: string | null;
  userId: string | null;
}

export interface EventReading {
  events: PlacedEvent[];
  /** Everything up to here was read. */
  end: Place;
  /** Whether there are no further settled events. */
  isAll: boolean;
  /** Whether there are committed events that are not settled yet. */
  isMoreComing: boolean;
}

/** Limits how many rows one call reads to find matching ones, and so how long it takes. */
const MAX_ROWS_READ = 1_000;

interface FoundRow extends GatewayEvent, PlaceRow {
  settled_generation: number;
  settled_xact_id: string;
  is_more_coming: boolean;
  is_wanted: boolean;
  number: number;
}

/**
 * Reads settled events (see `listEvents`), oldest first. Each kind of choice has its own index, and
 * the rows that it finds are filtered by the rest; if too many do not match, fewer than `limit` events
 * are returned, and `end` says how far it got.
 */
export async function readEventsAfter(
  sql: Sql,
  place: Place,
  choice: EventChoice,
  limit: number,
): Promise<EventReading> {
  const { names, userId } = choice;
  const nameArray = names && sql.array([...names]);
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
      select candidate.*,
        (${nameArray}::text[] is null or name = any(${nameArray}::text[]))
          and (${userId}::text is null or user_id = ${userId}) as is_wanted,
        row_number() over (order by generation, xact_id, id) as number
      from (${candidatesSql(sql, place, choice, limit)}) candidate
    ) found on found.is_wanted or found.number = ${MAX_ROWS_READ}
    order by found.generation, found.xact_id, found.id
    limit ${limit}`;
  return toReading(rows, limit);
}

function candidatesSql(
  sql: Sql,
  place: Place,
  { names, resourceId, userId }: EventChoice,
  limit: number,
) {
  const selected: string[] = [...columnNames(EVENT_COLUMNS), "generation", "xact_id"];
  const columns = sql(selected);
  const low = sql`${place.generation}::integer, ${String(place.xactId)}::xid8, ${place.id}::uuid`;
  const high = sql`settled.generation, settled.xact_id, ${NIL}::uuid`;
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

function toReading(rows: readonly FoundRow[], limit: number): EventReading {
  const { settled_generation, settled_xact_id, is_more_coming } = rows[0]!;
  const last = rows.at(-1)!;
  // If nothing is found there is still one row, with the settled position.
  const isAll = last.id === null || (rows.length < limit && last.number < MAX_ROWS_READ);
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
