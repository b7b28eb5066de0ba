/** Writes a new payment, in one round trip with all that belongs to it. */

import type { Sql } from "./database.ts";
import { type ClaimedKey, claimingKey } from "./idempotency_keys.ts";
import type { GatewayPayment } from "./payments.ts";
import { columnList, rowsOf } from "./rows.ts";

export interface PaymentInsert {
  payment: GatewayPayment;
  /** Null: the request bears no key. */
  key: ClaimedKey | null;
  /** A key counts no longer when it was made before this. */
  keysSince: Date;
  /** The payment of an earlier try with the same key, in whose place this one comes. */
  replaces: string | null;
}

const ITEM_COLUMNS = [
  "id",
  "payment_id",
  "position",
  "item_id",
  "name",
  "price",
  "quantity",
  "brand",
  "category",
  "merchant_name",
  "url",
];

/**
 * A new payment with its items, the order id it takes and the key it was asked with: all, or (where
 * the key is known or the order taken) nothing of the payment.
 */
export async function insertPayment(
  sql: Sql,
  { payment, key, keysSince, replaces }: PaymentInsert,
): Promise<{ isClaimed: boolean; isOrdered: boolean }> {
  const { items, refunds: _, ...row } = payment;
  const columns = columnList(sql, Object.keys(row));
  const itemColumns = columnList(sql, ITEM_COLUMNS);
  const [result] = await sql<[{ is_claimed: boolean; is_ordered: boolean }]>`
    with claimed as (
      ${key === null ? sql`select` : claimingKey(sql, key, { keysSince, replaces })}
    ), ordered as (
      insert into gateway.order_ids as taken (order_id, user_id, holder_id)
      select ${payment.order_id}, ${payment.user_id}, ${payment.id}::uuid
      where exists (select from claimed)
        -- The gateway takes either kind of id in its paths: an order must not pass for a transaction.
        and not exists (
          select from gateway.payments where transaction_id = ${payment.order_id})
      -- Only a failure sets an order id free, and only for the same caller.
      on conflict (order_id) do update set holder_id = excluded.holder_id
      where taken.user_id = excluded.user_id and exists (
        select from gateway.payments holder
        where holder.id = taken.holder_id and holder.transaction_status = 'failure')
      returning true
    ), inserted as (
      insert into gateway.payments (${columns})
      select ${columns} from ${rowsOf(sql, "payments", [row])}
      where exists (select from ordered)
      returning id
    ), with_items as (
      insert into gateway.payment_items (${itemColumns})
      select ${itemColumns} from ${rowsOf(sql, "payment_items", items)}
      where exists (select from inserted)
    ), with_history as (
      insert into gateway.payment_history (payment_id, to_status, source, created_at)
      select id, ${payment.transaction_status}, 'charge', ${payment.created_at} from inserted
    )
    select exists (select from claimed) as is_claimed, exists (select from ordered) as is_ordered`;
  return { isClaimed: result.is_claimed, isOrdered: result.is_ordered };
}
