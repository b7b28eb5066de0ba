/**
 * Assigns positions to committed events and inserts their webhook deliveries. A position is
 * assigned after the commit, in the order in which commits become visible, so no transaction that
 * is still open can delay other events.
 */

import { NIL } from "uuid";
import type { Sql } from "./database.ts";
import { firstColumnIs } from "./list_walk.ts";
import { currentGeneration, type NewEvent, PUBLISHED_CHANNEL } from "./events.ts";
import { MAX_COUNTED, type Waiting } from "./status.ts";

/** How many events get positions in one statement. */
const PUBLISH_LIMIT = 1_000;

/** One statement inserts at most about this many deliveries, so that it does not time out. */
const DELIVERY_LIMIT = 10_000;

/** In this snapshot every transaction is visible. */
const ALL_VISIBLE = "9223372036854775807:9223372036854775807:";

/** In this snapshot no transaction is visible. */
const NONE_VISIBLE = "1:1:";

export interface PublishedBatch {
  /** How many events got a position. */
  count: number;
  /** Whether there may be more events. */
  hasMore: boolean;
  /** The endpoints that got deliveries, disabled ones included. */
  endpoints: string[];
  /**
   * Those of the events that have in-process subscribers, in the order of their positions. An event
   * goes to the subscribers that its writer stored with it, and to those that any instance has
   * registered for its name (`subscribers.ts`).
   */
  subscribed: SubscribedEvent[];
}

/** The part of an event that its delivery jobs need. */
export type SubscribedEvent = Pick<
  NewEvent,
  "resource_id" | "sequence" | "created_at" | "subscribers"
>;

/**
 * Assigns positions to up to `limit` events, inserts their deliveries to the webhook endpoints that
 * exist now, and notifies followers. Disabled endpoints get deliveries, too, which wait until they
 * are enabled again. The caller inserts the jobs of in-process subscribers in the same transaction.
 *
 * All events whose transactions are visible in the stored snapshot have positions. A new event
 * belongs to a transaction that is visible now and not in that snapshot: it was still running when
 * the snapshot was taken, or it began later. The index of transaction ids finds both kinds without
 * reading other events. If there are more events than `limit`, the next call continues with the
 * same target snapshot.
 *
 * Only the session that holds the publisher's lock calls it. If two sessions did, the second would
 * violate the primary key and change nothing.
 */
export async function publishBatch(sql: Sql, limit = PUBLISH_LIMIT): Promise<PublishedBatch> {
  const inOrder = sql`event.generation, event.xact_id, event.id`;
  const isGeneration = firstColumnIs(sql, "event.generation", sql`state.generation`);
  const found = sql`event.id, event.xact_id, event.name, event.user_id, event.resource_id,
    event.sequence, event.created_at, event.subscribers`;
  const batchSize = sql`(select batch_size from state)`;
  const [row] = await sql<[PublishedRow]>`
    with state as materialized (
      select publication.*, current.generation as current_generation,
        coalesce(target, case
          -- A new generation begins when the database was restored on another server. So all
          -- transactions of the earlier ones have ended.
          when publication.generation < current.generation then ${ALL_VISIBLE}::pg_snapshot
          -- For some minutes after an update, instances of an earlier version may still read events
          -- in the order in which transactions began.
          when in_start_order_until > now()
            then format('%1$s:%1$s:', pg_snapshot_xmin(pg_current_snapshot()))::pg_snapshot
          else pg_current_snapshot()
        end) as wanted,
        coalesce(after_xact_id, '0'::xid8) as low_xact_id, coalesce(after_id, ${NIL}) as low_id,
        (select greatest(1, least(${limit}::int, ${DELIVERY_LIMIT} / greatest(1, count(*))))
          from gateway.webhook_endpoints) as batch_size
      from gateway.event_publication publication,
        (select ${currentGeneration(sql)} as generation) current
    ), candidate as materialized (
      select found.* from state, lateral (
        (
          select ${found}
          from pg_snapshot_xip(state.snapshot) running (xact_id), lateral (
            select * from gateway.events event
            where ${isGeneration} and event.xact_id = running.xact_id
              and (event.xact_id, event.id) > (state.low_xact_id, state.low_id)
              and pg_visible_in_snapshot(event.xact_id, state.wanted)
            order by ${inOrder} limit ${batchSize}
          ) event
        ) union all (
          select ${found} from gateway.events event
          where ${isGeneration} and (event.xact_id, event.id) > (
              greatest(pg_snapshot_xmax(state.snapshot), state.low_xact_id),
              case when state.low_xact_id >= pg_snapshot_xmax(state.snapshot)
                then state.low_id else ${NIL}::uuid end)
            and event.xact_id < pg_snapshot_xmax(state.wanted)
            and pg_visible_in_snapshot(event.xact_id, state.wanted)
          order by ${inOrder} limit ${batchSize}
        )
      ) found
      order by found.xact_id, found.id limit ${batchSize}
    ), published as (
      insert into gateway.published_events (position, event_id, name, user_id)
      select state.last_position + row_number() over (order by candidate.xact_id, candidate.id),
        candidate.id, candidate.name, candidate.user_id
      from state, candidate
    ), delivery as (
      insert into gateway.webhook_deliveries
        (event_id, endpoint_id, event_name, resource_id, sequence, next_attempt_at, created_at)
      select event.id, endpoint.id, event.name, event.resource_id, event.sequence,
        event.created_at, event.created_at
      from candidate event, gateway.webhook_endpoints endpoint
      where event.subscribers is not null and endpoint.deleted_at is null
        and (endpoint.event_names is null or event.name = any(endpoint.event_names))
      returning endpoint_id
    ), subscribed as materialized (
      select event.*, array(
        select unnest(event.subscribers)
        union select task from gateway.subscribers where event_name = event.name
      ) as tasks
      from candidate event where event.subscribers is not null
    ), result as materialized (
      select count(*) as count, count(*) = ${batchSize} as is_full,
        (array_agg(xact_id order by xact_id desc, id desc))[1] as last_xact_id,
        (array_agg(id order by xact_id desc, id desc))[1] as last_id
      from candidate
    ), advanced as (
      update gateway.event_publication publication
      set last_position = state.last_position + result.count,
        generation = case when result.is_full then state.generation
          else least(state.generation + 1, state.current_generation) end,
        snapshot = case when result.is_full then state.snapshot
          when state.generation < state.current_generation then ${NONE_VISIBLE}::pg_snapshot
          else state.wanted end,
        target = case when result.is_full then state.wanted end,
        after_xact_id = case when result.is_full then result.last_xact_id end,
        after_id = case when result.is_full then result.last_id end,
        batch_number = state.batch_number + 1
      from state, result
      where publication.batch_number = state.batch_number and (result.count > 0
        or state.target is not null or state.generation < state.current_generation)
    )
    select result.count, case when result.count > 0 then pg_notify(${PUBLISHED_CHANNEL}, '') end,
      result.is_full or state.target is not null
        or state.generation < state.current_generation as has_more,
      -- As JSON, because the driver does not parse arrays in the publisher's session.
      to_json(array(select distinct endpoint_id from delivery)) as endpoints,
      to_json(array(
        select json_build_object('resource_id', resource_id, 'sequence', sequence,
          'created_at', created_at, 'subscribers', tasks)
        from subscribed where tasks <> '{}' order by xact_id, id)) as subscribed
    from state, result`;
  return {
    count: row.count,
    hasMore: row.has_more,
    endpoints: row.endpoints,
    subscribed: row.subscribed.map((each) => ({ ...each, created_at: new Date(each.created_at) })),
  };
}

interface PublishedRow {
  count: number;
  has_more: boolean;
  endpoints: string[];
  subscribed: (Omit<SubscribedEvent, "created_at"> & { created_at: string })[];
}

/**
 * Counts committed events without a position, up to `MAX_COUNTED` + 1; finds the oldest one's time.
 */
export async function findUnpublished(sql: Sql): Promise<Waiting> {
  const inOrder = sql`event.generation, event.xact_id, event.id`;
  const isGeneration = firstColumnIs(sql, "event.generation", sql`state.generation`);
  const limit = MAX_COUNTED + 1;
  // Written without `not exists`, for which PostgreSQL may scan the whole table.
  const isUnpublished = sql`(
    select position from gateway.published_events where event_id = event.id) is null`;
  const [found] = await sql<[Waiting]>`
    select count(*) as count, min(waiting.created_at) as since
    from gateway.event_publication state, lateral (
      (
        select event.created_at
        from pg_snapshot_xip(state.snapshot) running (xact_id), lateral (
          select * from gateway.events event
          where ${isGeneration} and event.xact_id = running.xact_id
            and ${isUnpublished}
          order by ${inOrder} limit ${limit}
        ) event limit ${limit}
      ) union all (
        select event.created_at from gateway.events event
        where (${inOrder}) > (state.generation, pg_snapshot_xmax(state.snapshot), ${NIL}::uuid)
          and ${isUnpublished}
        order by ${inOrder} limit ${limit}
      )
      limit ${limit}
    ) waiting`;
  return found;
}
