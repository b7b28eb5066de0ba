/**
 * Assigns positions to committed events and inserts their webhook deliveries. A position is
 * assigned after the commit, so no transaction that is still open can delay other events.
 */

import type { Sql } from "../connection/database.ts";
import { publication } from "./positions.ts";
import { type NewEvent, PUBLISHED_CHANNEL } from "./events.ts";
import type { Fragment } from "../records/list_walk.ts";
import { MAX_COUNTED, type Waiting } from "../records/waiting.ts";

/** How many events get positions in one statement. */
const PUBLISH_LIMIT = 1_000;

/** One statement inserts at most about this many deliveries, so that it does not time out. */
const DELIVERY_LIMIT = 10_000;

/** Above every id of the outbox. */
const LAST_ID = "9223372036854775807";

/** If there are more ranges of unread ids, they are merged into one. */
const MAX_UNREAD_RANGES = 1_000;

export interface PublishedBatch {
  /** How many events got a position. */
  count: number;
  /** Whether there may be more events. */
  hasMore: boolean;
  /** The endpoints that got deliveries, disabled ones included. */
  endpoints: string[];
  /**
   * Those of the events that have in-process handlers, in the order of their positions. An event
   * goes to the handlers that its writer stored with it, and to those that any instance has
   * registered for its name (`handlers.ts`).
   */
  withHandlers: EventWithHandlers[];
}

/** The part of an event that its delivery jobs need. */
export type EventWithHandlers = Pick<
  NewEvent,
  "resource_id" | "sequence" | "created_at" | "subscribers"
>;

/**
 * Assigns positions to up to `limit` events in the order of their ids in the outbox, removes them
 * from the outbox, inserts their deliveries to the webhook endpoints that exist now, and wakes
 * followers. Disabled endpoints get deliveries, too, which wait until they are enabled again. The
 * caller inserts the jobs of in-process handlers in the same transaction.
 *
 * An event with a lower id may be committed later, and then gets a higher position. But the events
 * of one resource keep their order: a writer locks the resource until its commit, and takes the id
 * while it has the lock.
 *
 * Reads only `unread` ids: while a transaction is open, PostgreSQL keeps all deleted rows, and a
 * statement that starts at the lowest id reads them again and again. Below the last id that was
 * read, an id is unread if its transaction was open or rolled back. These gaps are forgotten when
 * all transactions that could have taken their ids have ended.
 *
 * Call it before its transaction writes anything, so that the transaction gets a higher number than
 * those that have taken ids. Only the connection that has the publisher's lock calls it. If two
 * connections did, the second would violate the primary key and change nothing.
 */
export async function publishBatch(sql: Sql, limit = PUBLISH_LIMIT): Promise<PublishedBatch> {
  const batchSize = sql`(select batch_size from state)`;
  const [row] = await sql<[PublishedRow]>`
    with state as materialized (${readState(sql, limit)}), taken as (
      delete from gateway.event_outbox where id = any(array(
        select waiting.id from state, ${unreadRows(sql, batchSize)} order by id limit ${batchSize}
      ))
      returning id, event_id
    ), candidate as materialized (
      select taken.id as outbox_id, event.id, event.name, event.user_id, event.resource_id,
        event.sequence, event.created_at, event.subscribers
      from taken join gateway.events event on event.id = taken.event_id
    ), published as (
      insert into gateway.published_events (position, event_id, name, user_id)
      select state.last_position + row_number() over (order by candidate.outbox_id),
        candidate.id, candidate.name, candidate.user_id
      from state, candidate
    ), delivery as (${insertDeliveries(sql)}), with_handlers as materialized (
      select event.*, array(
        select unnest(event.subscribers)
        union select task from gateway.subscribers where event_name = event.name
      ) as tasks
      from candidate event
    ), result as materialized (
      select count(*) as count, count(*) = ${batchSize} as is_full, max(id) as last_id,
        range_agg(int8range(id, id, '[]')) as ids
      from taken
    ), advanced as (${updateState(sql)})
    select result.count, case when result.count > 0 then pg_notify(${PUBLISHED_CHANNEL}, '') end,
      result.is_full as has_more,
      -- As JSON, because the driver does not parse arrays in the publisher's connection.
      to_json(array(select distinct endpoint_id from delivery)) as endpoints,
      to_json(array(
        select json_build_object('resource_id', resource_id, 'sequence', sequence,
          'created_at', created_at, 'subscribers', tasks)
        from with_handlers where tasks <> '{}' order by outbox_id)) as "withHandlers"
    from result`;
  return {
    count: row.count,
    hasMore: row.has_more,
    endpoints: row.endpoints,
    withHandlers: row.withHandlers.map((each) => ({
      ...each,
      created_at: new Date(each.created_at),
    })),
  };
}

/** How far events are published, and how many get positions now. */
function readState(sql: Sql, limit: number): Fragment {
  return sql`
    select last_position, unread, gaps_to, gaps_before,
      pg_snapshot_xmin(pg_current_snapshot()) >= gaps_before
        -- The database was restored on a server that has not reached this number.
        or pg_snapshot_xmax(pg_current_snapshot()) <= gaps_before as have_gaps_ended,
      (select greatest(1, least(${limit}::int, ${DELIVERY_LIMIT} / greatest(1, count(*))))
        from gateway.webhook_endpoints) as batch_size
    from ${publication(sql)}`;
}

/** The first committed rows of each range of unread ids. */
function unreadRows(sql: Sql, limit: Fragment): Fragment {
  return sql`unnest(unread) range, lateral (
    select * from gateway.event_outbox
    where id >= lower(range) and id < coalesce(upper(range), ${LAST_ID})
    order by id limit ${limit}
  ) waiting`;
}

function insertDeliveries(sql: Sql): Fragment {
  return sql`
    insert into gateway.webhook_deliveries
      (event_id, endpoint_id, event_name, resource_id, sequence, next_attempt_at, created_at)
    select event.id, endpoint.id, event.name, event.resource_id, event.sequence,
      event.created_at, event.created_at
    from candidate event, gateway.webhook_endpoints endpoint
    where endpoint.deleted_at is null
      and (endpoint.event_names is null or event.name = any(endpoint.event_names))
    returning endpoint_id`;
}

/** Advances the last position; removes the ids that were read, and gaps that have ended. */
function updateState(sql: Sql): Fragment {
  return sql`
    update gateway.event_publication old set
      last_position = state.last_position + result.count,
      unread = case when (select count(*) from unnest(remaining)) > ${MAX_UNREAD_RANGES}
        then int8multirange(range_merge(remaining)) else remaining end,
      gaps_to = case when can_forget then result.last_id else state.gaps_to end,
      gaps_before = case when can_forget then pg_current_xact_id() else state.gaps_before end
    from state, result,
      lateral (
        select have_gaps_ended and (not is_full or last_id > state.gaps_to) as can_forget
      ) gaps,
      lateral (
        select state.unread - result.ids - case when can_forget
          then int8multirange(int8range(null, state.gaps_to, '[]')) else '{}' end as remaining
      ) unread_ids
    -- A subquery and no join, which could read all former versions of the row.
    where old.last_position = (select last_position from state) and result.count > 0`;
}

/**
 * Makes the next batch read the whole outbox. Each new publisher calls it: if the database was
 * copied without the sequence of the outbox, as by logical replication, new ids are below those
 * that were read.
 */
export async function readOutboxAgain(sql: Sql): Promise<void> {
  await sql`
    update gateway.event_publication
    set unread = default, gaps_to = default, gaps_before = default`;
}

interface PublishedRow {
  count: number;
  has_more: boolean;
  endpoints: string[];
  withHandlers: (Omit<EventWithHandlers, "created_at"> & { created_at: string })[];
}

/**
 * Counts committed events without a position, up to `MAX_COUNTED` + 1; finds the oldest one's time.
 */
export async function findUnpublished(sql: Sql): Promise<Waiting> {
  const limit = sql`${MAX_COUNTED + 1}`;
  const [found] = await sql<[Waiting]>`
    select count(*) as count, min(event.created_at) as since
    from (
      select event_id from ${publication(sql)}, ${unreadRows(sql, limit)} limit ${limit}
    ) waiting join gateway.events event on event.id = waiting.event_id`;
  return found;
}
