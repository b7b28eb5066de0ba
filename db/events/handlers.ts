/**
 * The in-process handlers that instances have registered. The publisher creates deliveries for
 * them (`publication.ts`).
 */

import type { Sql } from "../connection/database.ts";

/** A handler, and one of the events that it gets. */
export interface HandledName {
  /** The task that delivers events to the handler. */
  task: string;
  event_name: string;
}

/**
 * A handler is removed after so many runs of `prune`, which take an hour. Runs are counted
 * instead of time, because no instance can register anything while the whole service is down.
 */
const MAX_MISSED_PRUNES = 6;

/** Call it at the start, and then every 20 seconds. */
export async function registerHandlers(
  sql: Sql,
  handled: readonly HandledName[],
): Promise<void> {
  await sql`
    insert into gateway.subscribers (task, event_name)
    select task, event_name
    from json_populate_recordset(null::gateway.subscribers,
      ${JSON.stringify(handled)}::text::json)
    order by task, event_name
    on conflict (task, event_name) do update set missed_prunes = 0, registered_at = now()`;
}

/**
 * Removes the handlers that no instance has registered for an hour. Call it in each run of
 * `prune`. Locks the rows in the order in which instances register them, so that no deadlock ends
 * either statement.
 */
export async function removeMissedHandlers(sql: Sql): Promise<void> {
  await sql`
    with known as materialized (
      select task, event_name, missed_prunes from gateway.subscribers
      order by task, event_name for update
    ), removed as (
      delete from gateway.subscribers handler using known
      where (handler.task, handler.event_name) = (known.task, known.event_name)
        and known.missed_prunes >= ${MAX_MISSED_PRUNES}
    )
    update gateway.subscribers handler set missed_prunes = known.missed_prunes + 1 from known
    where (handler.task, handler.event_name) = (known.task, known.event_name)
      and known.missed_prunes < ${MAX_MISSED_PRUNES}`;
}

/** Whether an instance that has this row is running. */
export function isStillRegistered(sql: Sql) {
  return sql`registered_at > now() - interval '1 minute'`;
}

export async function isHandlerRegistered(sql: Sql, task: string): Promise<boolean> {
  const rows = await sql`select from gateway.subscribers where task = ${task} limit 1`;
  return rows.length > 0;
}
