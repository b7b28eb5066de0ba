/** The open event streams of all instances. */

import type { Sql } from "../connection/database.ts";

export interface NewStream {
  id: string;
  /** The token of the instance. */
  holder: number;
  userId: string;
  perCaller: number;
  total: number;
}

export interface StreamCounts {
  /** The other open streams of the user. */
  own: number;
  is_added: boolean;
}

/**
 * Adds a stream if there is room for it. Call it in a transaction: the lock makes each call see the
 * streams that earlier calls have added. Streams of instances whose locks are free do not count.
 * They are deleted with these instances: after a failover, all locks are free for a moment.
 */
export async function addOpenStream(sql: Sql, stream: NewStream): Promise<StreamCounts> {
  const { id, holder, userId, perCaller, total } = stream;
  await sql`select pg_advisory_xact_lock(hashtextextended('gateway.open_streams', 0))`;
  const [row] = await sql<[StreamCounts]>`
    with alive as materialized (
      select holder from gateway.instances
      where holder <> ${holder} and not pg_try_advisory_xact_lock_shared(holder)
      union all select ${holder}::bigint
    ), counted as materialized (
      select count(*) filter (where user_id = ${userId}) as own, count(*) as total
      from gateway.open_streams where holder in (select holder from alive)
    ), added as (
      insert into gateway.open_streams (id, holder, user_id)
      select ${id}::uuid, ${holder}::bigint, ${userId}::text
      from counted where own < ${perCaller} and total < ${total}
      returning id
    )
    select own, exists (select from added) as is_added from counted`;
  return row;
}

export async function deleteOpenStreams(sql: Sql, ids: string[]): Promise<void> {
  await sql`
    delete from gateway.open_streams
    where id in (select value::uuid from json_array_elements_text(
      ${JSON.stringify(ids)}::text::json))`;
}
