/**
 * The in-process subscribers that instances have registered. The publisher creates deliveries for
 * them (`publication.ts`).
 */

import type { Sql } from "../connection/database.ts";

/** A subscriber, and one of the events that it gets. */
export interface SubscribedName {
  /** The task that delivers events to the subscriber. */
  task: string;
  event_name: string;
}

/**
 * A subscriber is removed after so many runs of `prune`, which take an hour. Runs are counted
 * instead of time, because no instance can register anything while the whole service is down.
 */
const MAX_MISSED_PRUNES = 6;

/** Call it at the start, and then every 20 seconds. */
export async function registerSubscribers(
  sql: Sql,
  subscribed: readonly SubscribedName[],
): Promise<void> {
  await sql`
    insert into gateway.subscribers (task, event_name)
    select task, event_name
    from json_populate_recordset(null::gateway.subscribers,
      ${JSON.stringify(subscribed)}::text::json)
    order by task, event_name
    on conflict (task, event_name) do update set missed_prunes = 0, registered_at = now()`;
}

/**
 * Removes the subscribers that no instance has registered for an hour. Call it in each run of
 * `prune`. Locks the rows in the order in which instances register them, so that no deadlock ends
 * either statement.
 */
export async function removeMissedSubscribers(sql: Sql): Promise<void> {
  await sql`
    with known as materialized (
      select task, event_name, missed_prunes from gateway.subscribers
      order by task, event_name for update
    ), removed as (
      delete from gateway.subscribers subscriber using known
      where (subscriber.task, subscriber.event_name) = (known.task, known.event_name)
        and known.missed_prunes >= ${MAX_MISSED_PRUNES}
    )
    update gateway.subscribers subscriber set missed_prunes = known.missed_prunes + 1 from known
    where (subscriber.task, subscriber.event_name) = (known.task, known.event_name)
      and known.missed_prunes < ${MAX_MISSED_PRUNES}`;
}

/** Whether an instance that has this row is running. */
export function isStillRegistered(sql: Sql) {
  return sql`registered_at > now() - interval '1 minute'`;
}

export async function isSubscriberRegistered(sql: Sql, task: string): Promise<boolean> {
  const rows = await sql`select from gateway.subscribers where task = ${task} limit 1`;
  return rows.length > 0;
}
