/** The statements that write payments. `db/payments/statements.ts` reads them. */

import { columnNames, mutableNames } from "../records/columns.ts";
import type { Sql } from "../connection/database.ts";
import {
  type GatewayPayment,
  PAYMENT_COLUMNS,
  PAYMENT_ITEM_COLUMNS,
} from "../payments/payments.ts";
import { batchedInsert, batchedUpdate } from "./record_writes.ts";
import {
  type BuildRecordWrite,
  type SideEffects,
  type WriteResult,
  writeWithSideEffects,
} from "./side_effects.ts";

export const paymentInserts = batchedInsert<GatewayPayment>({
  resource: "payment",
  table: "payments",
  columns: columnNames(PAYMENT_COLUMNS),
  status: "transaction_status",
  source: "charge",
  orderOf: ({ order_id }) => order_id,
  reservedBy: "checkout_id",
  items: {
    table: "payment_items",
    columns: columnNames(PAYMENT_ITEM_COLUMNS),
    of: ({ items }) => items,
  },
});

/** Most notifications change no other columns than these. */
const REPORTED_COLUMNS = {
  transaction_status: "text",
  fraud_status: "text",
  status_code: "text",
  status_message: "text",
  captured_amount: "bigint",
  refunded_amount: "bigint",
  settlement_time: "timestamptz",
  paid_at: "timestamptz",
  check_at: "timestamptz",
  event_count: "integer",
  updated_at: "timestamptz",
} as const;

export const paymentWrites = batchedUpdate<GatewayPayment>(
  "payments",
  mutableNames(PAYMENT_COLUMNS),
  REPORTED_COLUMNS,
);

const COLUMN_LIST = columnNames(PAYMENT_COLUMNS).join(", ");
const ITEM_COLUMN_LIST = columnNames(PAYMENT_ITEM_COLUMNS).join(", ");

/**
 * Inserts a payment for a transaction that was created outside of the service. If the transaction
 * has a payment already, nothing is written: of several concurrent calls, one succeeds.
 */
export async function adoptPayment(
  sql: Sql,
  write: SideEffects & { record: GatewayPayment },
): Promise<WriteResult> {
  const { items } = write.record;
  const buildInsert: BuildRecordWrite = (statement) => [
    `changed as (
      insert into gateway.payments (${COLUMN_LIST})
      select ${COLUMN_LIST} from ${statement.rows("payments", [write.record])}
      on conflict (transaction_id) do nothing
      returning id
    )`,
    ...items.length > 0
      ? [`with_items as (
      insert into gateway.payment_items (${ITEM_COLUMN_LIST})
      select ${ITEM_COLUMN_LIST} from ${statement.rows("payment_items", items)}
      where payment_id in (select id from changed)
    )`]
      : [],
  ];
  const [written] = await writeWithSideEffects(sql, buildInsert, [write]);
  return written!;
}

/** In the order of their ids, as every statement that locks several rows, to avoid deadlocks. */
export async function lockPayments(sql: Sql, ids: string[]): Promise<void> {
  await sql`
    select from gateway.payments where id = any(${ids}::uuid[]) order by id for update`;
}

/**
 * Moves the refunds and notifications of a payment to another payment and its owner, and what
 * settlement reports say about it. A fee that both payments have is the same one.
 */
export async function moveRowsOfPayment(
  sql: Sql,
  from: Pick<GatewayPayment, "id">,
  to: Pick<GatewayPayment, "id" | "user_id">,
): Promise<void> {
  await sql`
    update gateway.refunds set payment_id = ${to.id}, user_id = ${to.user_id}
    where payment_id = ${from.id}`;
  await sql`
    update gateway.notifications set payment_id = ${to.id} where payment_id = ${from.id}`;
  await sql`
    update gateway.payment_fees fee set payment_id = ${to.id}
    where payment_id = ${from.id} and not exists (
      select from gateway.payment_fees known
      where known.payment_id = ${to.id} and known.item = fee.item
    )`;
  await sql`
    delete from gateway.payment_fees where payment_id = ${from.id}`;
  await sql`
    update gateway.reported_lines set payment_id = ${to.id} where payment_id = ${from.id}`;
}
