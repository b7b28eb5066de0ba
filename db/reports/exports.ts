/** Reads records by the ids of a page of a list, for exports: whole payments, or only owners. */

import type { Sql } from "../connection/database.ts";
import type { GatewayPayment } from "../payments/payments.ts";

type ExportedTable = "payments" | "refunds" | "invoices";

/** The payments with these ids, in this order, without their items and refunds. */
export async function listPaymentsByIds(
  sql: Sql,
  ids: readonly string[],
): Promise<GatewayPayment[]> {
  const rows = await sql<GatewayPayment[]>`
    select record.*, (select sum(fee_cents)::bigint from gateway.payment_fees
      where payment_id = record.id) as fee_cents ${fromIds(sql, "payments", ids)}`;
  return rows.map((row) => ({ ...row, items: [], refunds: [] }));
}

/** The owners of records, in the order of `ids`. */
export async function listOwners(
  sql: Sql,
  table: ExportedTable,
  ids: readonly string[],
): Promise<(string | null)[]> {
  const rows = await sql<{ user_id: string | null }[]>`
    select user_id ${fromIds(sql, table, ids)}`;
  return rows.map(({ user_id }) => user_id);
}

/** Because of the limit, PostgreSQL looks up each id instead of reading the whole table. */
function fromIds(sql: Sql, table: ExportedTable, ids: readonly string[]) {
  return sql`
    from unnest(${sql.array([...ids])}::uuid[]) with ordinality wanted (id, number)
    cross join lateral (
      select * from gateway.${sql.unsafe(table)} where id = wanted.id limit 1
    ) record
    order by wanted.number`;
}
