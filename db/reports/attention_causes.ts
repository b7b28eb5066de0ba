/** The causes for attention that are stored: which of them are raised, and since when. */

import type { Sql } from "../connection/database.ts";
import type { NewEvent } from "../events/events.ts";
import {
  type BuildRecordWrite,
  NO_SIDE_EFFECTS,
  type WriteResult,
  writeWithSideEffects,
} from "../writing/side_effects.ts";

export interface GatewayAttention {
  id: string;
  cause: string;
  /** Null: it is not raised. */
  since: Date | null;
  event_count: number;
  updated_at: Date;
}

/** All causes that were ever raised. */
export async function listCauses(sql: Sql): Promise<GatewayAttention[]> {
  return await sql<GatewayAttention[]>`select * from gateway.attention`;
}

/**
 * Stores a cause with its event; `isWritten` is false if another instance has changed the cause
 * meanwhile. Its `event_count` includes the event.
 */
export async function writeCause(
  sql: Sql,
  attention: GatewayAttention,
  event: NewEvent,
): Promise<WriteResult> {
  const { id, cause, since, event_count, updated_at } = attention;
  const buildUpsert: BuildRecordWrite = (statement) => [
    `changed as (
      insert into gateway.attention as known (id, cause, since, event_count, updated_at)
      values (${statement.value(id)}::uuid, ${statement.value(cause)},
        ${statement.value(since)}::timestamptz, ${statement.value(String(event_count))}::int,
        ${statement.value(updated_at)}::timestamptz)
      on conflict (cause) do update set since = excluded.since,
        event_count = excluded.event_count, updated_at = excluded.updated_at
      where known.id = excluded.id and known.event_count = excluded.event_count - 1
      returning id
    )`,
  ];
  const write = { ...NO_SIDE_EFFECTS, record: attention, events: [event] };
  const [written] = await writeWithSideEffects(sql, buildUpsert, [write]);
  return written!;
}
