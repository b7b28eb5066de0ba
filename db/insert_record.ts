/** Writes new payments, in one round trip with all that belongs to them. */

import type { Sql } from "./database.ts";
import { type ClaimedKey, claimingKeys, nameOf } from "./idempotency_keys.ts";
import { type GatewayPayment, PAYMENT_COLUMNS } from "./payments.ts";
import { Statement } from "./statement.ts";
import type { Together } from "./together.ts";

export interface PaymentInsert {
  payment: GatewayPayment;
  /** Null: the request bears no key. */
  key: ClaimedKey | null;
  /** A key counts no longer when it was made before this. */
  keysSince: Date;
  /** The payment of an earlier try with the same key, in whose place this one comes. */
  replaces: string | null;
}

export interface Inserted {
  /** False: the key is known already. */
  isClaimed: boolean;
  /** False: the order is taken. */
  isOrdered: boolean;
}

/**
 * New payments with their items, the order ids they take and the keys they were asked with: of each
 * all, or (where the key is known or the order taken) nothing of the payment.
 */
export const insertingPayments: Together<PaymentInsert, Inserted> = {
  name: "insert payment",
  touches: ({ payment, key }) => [
    `order ${payment.order_id}`,
    ...key ? [`key ${nameOf(key)}`] : [],
  ],
  run: insertPayments,
};

const COLUMNS = PAYMENT_COLUMNS.join(", ");

const ITEM_COLUMNS =
  "id, payment_id, position, item_id, name, price, quantity, brand, category, merchant_name, url";

async function insertPayments(sql: Sql, inserts: PaymentInsert[]): Promise<Inserted[]> {
  const statement = new Statement();
  const payments = inserts.map(({ payment }) => payment);
  const keys = inserts.flatMap(({ key }) => key ?? []);
  const items = payments.flatMap(({ items }) => items);
  const text = `
    with new_payment as (select * from ${statement.rows("payments", payments)})
    ${keys.length > 0 ? `, claimed as (${claiming(statement, inserts, keys)})` : ""}
    , ordered as (
      insert into gateway.order_ids as taken (order_id, user_id, holder_id)
      select order_id, user_id, id from new_payment
      where ${keys.length > 0 ? isClaimed(statement, keys) : "true"}
        -- The gateway takes either kind of id in its paths: an order must not pass for a transaction.
        and not exists (
          select from gateway.payments known where known.transaction_id = new_payment.order_id)
      order by order_id
      -- Only a failure sets an order id free, and only for the same caller.
      on conflict (order_id) do update set holder_id = excluded.holder_id
      where taken.user_id = excluded.user_id and 'failure' = (
        select transaction_status from gateway.payments holder where holder.id = taken.holder_id)
      returning holder_id
    ), inserted as (
      insert into gateway.payments (${COLUMNS})
      select ${COLUMNS} from new_payment where id in (select holder_id from ordered)
      returning id, transaction_status, created_at
    ), with_history as (
      insert into gateway.payment_history (payment_id, to_status, source, created_at)
      select id, transaction_status, 'charge', created_at from inserted
    )
    ${items.length > 0 ? `, with_items as (${insertingItems(statement, items)})` : ""}
    select array(select holder_id from ordered) as ordered,
      ${keys.length > 0 ? "array(select payment_id from claimed)" : "'{}'::uuid[]"} as claimed`;
  const [done] = await statement.run<{ claimed: string[]; ordered: string[] }>(sql, text);
  return inserts.map(({ payment, key }) => ({
    isClaimed: key === null || done!.claimed.includes(payment.id),
    isOrdered: done!.ordered.includes(payment.id),
  }));
}

function claiming(statement: Statement, inserts: PaymentInsert[], keys: ClaimedKey[]): string {
  const { keysSince } = inserts[0]!;
  return claimingKeys(statement, keys, {
    keysSince,
    replaced: inserts.flatMap(({ replaces }) => replaces ?? []),
  });
}

function isClaimed(statement: Statement, keys: ClaimedKey[]): string {
  const keyed = statement.ids(keys.map(({ payment_id }) => payment_id));
  return `(id <> all(${keyed}) or id in (select payment_id from claimed))`;
}

function insertingItems(statement: Statement, items: GatewayPayment["items"]): string {
  return `
      insert into gateway.payment_items (${ITEM_COLUMNS})
      select ${ITEM_COLUMNS} from ${statement.rows("payment_items", items)}
      where payment_id in (select id from inserted)`;
}
