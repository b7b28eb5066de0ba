/** Pending payments, and the notifications that settle them. */

import { createHash } from "node:crypto";
import postgres from "postgres";
import { SERVER_KEY } from "./service.ts";

/** This many payments, the newest ones, are pending; all older ones are paid. */
export const PENDING = 100_000;

/**
 * The distance between payments that are settled one after the other, so that they are not settled
 * in the order of creation. Coprime to `PENDING`, so that each is settled once.
 */
export const STRIDE = 48_271;

/** The users who own the payments, in turns. */
export const USERS = Array.from({ length: 999 }, (_, n) => `user-${n}`);

const ITEM = "22000, 2, 'Coffee'";

/** SQL that computes the id of a row from its number: a UUIDv7, so that ids are ordered by time. */
export function idOf(row: string): string {
  return `(lpad(to_hex(1750000000000 + ${row}::bigint * 500), 12, '0') ` +
    `|| '70008000000000000000')::uuid`;
}

/** The row of the payment that is the n-th to be settled. Rows are numbered from 1, `n` from 0. */
export function nthRow(rows: number, n: number): number {
  return rows - PENDING + 1 + n * STRIDE % PENDING;
}

/** Inserts payments and their items, all at once, because there may be a million. */
export async function insertPayments(url: string, rows: number): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const tables = ["payments", "payment_filters"];
  await withoutIndexes(sql, tables, () => insertRows(sql, 1, rows, rows - PENDING));
  await sql`vacuum analyze gateway.payments, gateway.payment_filters, gateway.payment_items`;
  // Otherwise a checkpoint could run during the measurement.
  await sql`checkpoint`;
  await sql.end();
}

/** Creating indexes after many rows were inserted is several times faster. */
export async function withoutIndexes(
  sql: postgres.Sql,
  tables: readonly string[],
  insert: () => Promise<void>,
): Promise<void> {
  const indexes = await sql<
    { name: string; table: string; constraint: string | null; definition: string }[]
  >`
    select indexrelid::regclass::text as name, indrelid::regclass::text as table,
      conname as constraint, pg_get_indexdef(indexrelid) as definition
    from pg_index left join pg_constraint on conindid = indexrelid
    where indrelid = any(${tables.map((table) => `gateway.${table}`)}::regclass[])
      and not indisprimary`;
  for (const { name, table, constraint } of indexes) {
    await sql.unsafe(
      constraint ? `alter table ${table} drop constraint ${constraint}` : `drop index ${name}`,
    );
  }
  await insert();
  await sql`set maintenance_work_mem = '512MB'`;
  for (const { definition } of indexes) await sql.unsafe(definition);
}

/** Inserts the rows `first` to `last`; all of them are pending. */
export async function insertPending(url: string, first: number, last: number): Promise<void> {
  const sql = postgres(url, { max: 1 });
  await insertRows(sql, first, last, 0);
  await sql.end();
}

/** Inserts the rows `first` to `last`; those up to `lastPaid` are paid, the others are pending. */
async function insertRows(
  sql: postgres.Sql,
  first: number,
  last: number,
  lastPaid: number,
): Promise<void> {
  await sql.unsafe(`
    insert into gateway.payments (
      id, user_id, order_id, transaction_id, payment_type, bank, gross_amount, captured_amount,
      currency, transaction_status, fraud_status, status_code, status_message,
      customer_first_name, customer_email, va_number, transaction_time, settlement_time,
      expiry_time, paid_at, sent_at, check_at, event_count, version, created_at, updated_at
    )
    select ${
    idOf("n")
  }, 'user-' || n % ${USERS.length}, n || '-web', md5(n::text)::uuid, 'bank_transfer',
      'bca', 44000, case when is_paid then 44000 end, 'IDR',
      case when is_paid then 'settlement' else 'pending' end, 'accept',
      case when is_paid then '200' else '201' end,
      case when is_paid then 'Success, transaction is found'
        else 'Success, Bank Transfer transaction is created' end,
      'Budi', 'budi@example.com', '812785' || lpad(n::text, 9, '0'), made_at,
      case when is_paid then made_at end, made_at + interval '1 day',
      case when is_paid then made_at end, made_at,
      case when not is_paid then now() + interval '1 day' end, case when is_paid then 2 else 1 end,
      case when is_paid then 2 else 1 end, made_at, made_at
    from generate_series(${first}::int, ${last}::int) n
    cross join lateral (
      select now() - make_interval(secs => (${last} - n) * 0.5) as made_at,
        n <= ${lastPaid} as is_paid
    ) made`);
  await sql.unsafe(`
    insert into gateway.payment_items (id, payment_id, position, price, quantity, name)
    select uuidv7(), ${idOf("n")}, 0, ${ITEM}
    from generate_series(${first}::int, ${last}::int) n`);
}

/** The notification that the payment in this row is settled. */
export function settlement(row: number): Record<string, unknown> {
  const signed = { order_id: `${row}-web`, status_code: "200", gross_amount: "44000.00" };
  return {
    va_numbers: [{ va_number: `812785${String(row).padStart(9, "0")}`, bank: "bca" }],
    transaction_time: "2026-01-23 16:33:49",
    transaction_status: "settlement",
    transaction_id: transactionId(row),
    status_message: "midtrans payment notification",
    signature_key: sign(signed),
    settlement_time: "2026-01-23 16:37:12",
    payment_type: "bank_transfer",
    payment_amounts: [{ paid_at: "2026-01-23 16:37:12", amount: "44000.00" }],
    merchant_id: "G812785002",
    fraud_status: "accept",
    expiry_time: "2026-01-24 16:33:49",
    currency: "IDR",
    ...signed,
  };
}

export interface SignedFields {
  order_id: string;
  status_code: string;
  gross_amount: string;
}

export function sign({ order_id, status_code, gross_amount }: SignedFields): string {
  return createHash("sha512").update(order_id + status_code + gross_amount + SERVER_KEY)
    .digest("hex");
}

/** The same UUID as `md5(n)::uuid` in PostgreSQL. */
function transactionId(row: number): string {
  return createHash("md5").update(String(row)).digest("hex")
    .replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
