/** Generations of events: transactions are numbered by the server, and each server begins anew. */

import { NIL } from "uuid";
import type { Sql } from "./database.ts";

/** The one that new events belong to. */
export function currentGeneration(sql: Sql) {
  return sql`(
    select pg_get_expr(adbin, adrelid)::integer
    from pg_attribute join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attrelid = 'gateway.events'::regclass and attname = 'generation')`;
}

/**
 * Whether events were brought here from a server that had come further: an event that can be seen,
 * of a transaction that there has not been.
 */
export async function isFromElsewhere(sql: Sql): Promise<boolean> {
  const rows = await sql`
    select from gateway.events
    where (generation, xact_id, id) >= (
      ${currentGeneration(sql)}, pg_snapshot_xmax(pg_current_snapshot()), ${NIL}::uuid)
    limit 1`;
  return rows.length > 0;
}

/** In a transaction: of many instances that start at once one does it. */
export async function beginGeneration(sql: Sql): Promise<void> {
  await sql`lock table gateway.events in access exclusive mode`;
  if (!await isFromElsewhere(sql)) return;
  const [row] = await sql<[{ next: number }]>`select ${currentGeneration(sql)} + 1 as next`;
  await sql.unsafe(`alter table gateway.events alter generation set default ${row.next}`);
}
