/** Rows on their way into a statement, as JSON: any number of them, and the statement stays the same. */

import type { Sql } from "./database.ts";

type Table =
  | "payments"
  | "payment_items"
  | "payment_history"
  | "refunds"
  | "events"
  | "jobs"
  | "idempotency_keys";

/** To be selected from, as from the table itself; members that are no columns are left out. */
export function rowsOf(sql: Sql, table: Table, rows: readonly object[]) {
  const type = sql.unsafe(`gateway.${table}`);
  return sql`json_populate_recordset(null::${type}, ${JSON.stringify(rows)}::text::json)`;
}

/**
 * Columns by name. Inserts name theirs: one that a later release adds keeps its default while this
 * one still runs beside it.
 */
export function columnList(sql: Sql, names: readonly string[]) {
  return sql.unsafe(names.join(", "));
}
