/**
 * Assigns positions to committed events. A position is assigned after the commit, in the order in which
 * commits become visible, so no transaction that is still open can delay other events.
 */

import { MAX, NIL } from "uuid";
import type { Sql } from "./database.ts";
import { currentGeneration, PUBLISHED_CHANNEL } from "./events.ts";
import { MAX_COUNTED, type Waiting } from "./status.ts";

/** Events that get positions in one statement. */
const PUBLISH_LIMIT = 1_000;

/** In this snapshot every transaction is visible. */
const ALL_VISIBLE = "9223372036854775807:9223372036854775807:";

/** In this snapshot no transaction is visible. */
const NONE_VISIBLE = "1:1:";

export interface PublishedBatch {
  /** How many events got a position. */
  count: number;
  /** Whether there may be more events. */
  hasMore: boolean;
}

/**
 * Assigns positions to up to `limit` events and notifies followers.
 *
 * The stored snapshot says which transactions have their positions. A new event belongs to a
 * transaction that is visible now and not in that snapshot: one that ran when the snapshot was taken,
 * or one that began later. Both are found by the index of transaction ids, without reading other
 * events. If there are more than `limit`, the next call continues with the same target snapshot.
 *
 * Only the session that holds the lock calls it. If two sessions did, the second would violate the
 * primary key and change nothing.
 */
export async function publishBatch(sql: Sql, limit = PUBLISH_LIMIT): Promise<PublishedBatch> {
  const inOrder = sql`event.generation, event.xact_id, event.id`;
  const [{ count, has_more }] = await sql<[{ count: number; has_more: boolean }]>`
    with state as materialized (
      select publication.*, current.generation as current_generation,
        coalesce(target, case
          -- All transactions of an earlier generation have ended.
          when publication.generation < current.generation then ${ALL_VISIBLE}::pg_snapshot
          when in_start_order_until > now()
            then format('%1$s:%1$s:', pg_snapshot_xmin(pg_current_snapshot()))::pg_snapshot
          else pg_current_snapshot()
        end) as wanted,
        coalesce(after_xact_id, '0'::xid8) as low_xact_id, coalesce(after_id, ${NIL}) as low_id
      from gateway.event_publication publication,
        (select ${currentGeneration(sql)} as generation) current
    ), candidate as materialized (
      select found.* from state, lateral (
        (
          select event.id, event.xact_id, event.name, event.user_id
          from pg_snapshot_xip(state.snapshot) running (xact_id), lateral (
            select * from gateway.events event
            where (${inOrder}) > (state.generation, running.xact_id, ${NIL}::uuid)
              and (${inOrder}) <= (state.generation, running.xact_id, ${MAX}::uuid)
              and (event.xact_id, event.id) > (state.low_xact_id, state.low_id)
              and pg_visible_in_snapshot(event.xact_id, state.wanted)
            order by ${inOrder} limit ${limit}
          ) event
        ) union all (
          select event.id, event.xact_id, event.name, event.user_id from gateway.events event
          where (${inOrder}) > (
              state.generation,
              greatest(pg_snapshot_xmax(state.snapshot), state.low_xact_id),
              case when state.low_xact_id >= pg_snapshot_xmax(state.snapshot)
                then state.low_id else ${NIL}::uuid end)
            and (${inOrder})
              < (state.generation, pg_snapshot_xmax(state.wanted), ${NIL}::uuid)
            and pg_visible_in_snapshot(event.xact_id, state.wanted)
          order by ${inOrder} limit ${limit}
        )
      ) found
      order by found.xact_id, found.id limit ${limit}
    ), published as (
      insert into gateway.published_events (position, event_id, name, user_id)
      select state.last_position + row_number() over (order by candidate.xact_id, candidate.id),
        candidate.id, candidate.name, candidate.user_id
      from state, candidate
    ), result as materialized (
      select count(*) as count, count(*) = ${limit} as is_full,
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
        batch = state.batch + 1
      from state, result
      where publication.batch = state.batch and (result.count > 0
        or state.target is not null or state.generation < state.current_generation)
    )
    select result.count, case when result.count > 0 then pg_notify(${PUBLISHED_CHANNEL}, '') end,
      result.is_full or state.target is not null
        or state.generation < state.current_generation as has_more
    from state, result`;
  return { count, hasMore: has_more };
}

/** Committed events without a position, up to the limit of counts, and the time of the oldest. */
export async function findUnpublished(sql: Sql): Promise<Waiting> {
  const inOrder = sql`event.generation, event.xact_id, event.id`;
  const limit = MAX_COUNTED + 1;
  // Not `not exists`, which PostgreSQL may plan as a scan of the whole table.
  const isUnpublished = sql`(
    select position from gateway.published_events where event_id = event.id) is null`;
  const [found] = await sql<[Waiting]>`
    select count(*) as count, min(waiting.created_at) as since
    from gateway.event_publication state, lateral (
      (
        select event.created_at
        from pg_snapshot_xip(state.snapshot) running (xact_id), lateral (
          select * from gateway.events event
          where (${inOrder}) > (state.generation, running.xact_id, ${NIL}::uuid)
            and (${inOrder}) <= (state.generation, running.xact_id, ${MAX}::uuid)
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
