/** The statements that read payments. `payment_writes.ts` writes them. */

import type { Batched } from "../records/batched.ts";
import type { Sql } from "../connection/database.ts";
import type { GatewayPayment, GatewayRefund } from "./payments.ts";
import type { DueCheck, OwnerFilter } from "../records/records.ts";
import { Statement } from "../records/statement.ts";

/**
 * A payment with its items and refunds, selected from `gateway.payments payment`. Refunds are
 * ordered by one row value. With `order by created_at, id` instead, PostgreSQL 18 reads the whole
 * primary key index of refunds for each payment if the table was tiny when it was analyzed.
 */
const WHOLE_PAYMENT = `payment.*,
      coalesce((select json_agg(item order by item.position)
        from gateway.payment_items item where item.payment_id = payment.id), '[]') as items,
      coalesce((select json_agg(refund order by (refund.created_at, refund.id))
        from gateway.refunds refund where refund.payment_id = payment.id), '[]') as refunds`;

/** Only for readers of the payment; other statements do not need it. */
const FEE = `(select sum(fee_cents)::bigint from gateway.payment_fees
      where payment_id = payment.id) as fee_cents`;

/** Changes the row in place: copying its 50 columns would take longer than reading them. */
function parsePayment(row: GatewayPayment): GatewayPayment {
  row.refunds = row.refunds.map(parseRefund);
  return row;
}

/** Refunds arrive as JSON in their payment's row, with times as text. */
function parseRefund(row: GatewayRefund): GatewayRefund {
  return { ...row, created_at: new Date(row.created_at), updated_at: new Date(row.updated_at) };
}

export async function findPayment(
  sql: Sql,
  id: string,
  owner: OwnerFilter = null,
): Promise<GatewayPayment | null> {
  const [found] = await findPayments(sql, [{ id, owner }]);
  return found!;
}

/** All payments of a checkout's attempts, oldest first. */
export async function listPaymentsOfCheckout(
  sql: Sql,
  checkoutId: string,
): Promise<GatewayPayment[]> {
  const rows = await sql<GatewayPayment[]>`
    select ${sql.unsafe(WHOLE_PAYMENT)} from gateway.payments payment
    where checkout_id = ${checkoutId} order by id`;
  return rows.map(parsePayment);
}

/** Reads payments for callers; null: there is no such payment, or it belongs to another user. */
export const paymentReads: Batched<{ id: string; owner: OwnerFilter }, GatewayPayment | null> = {
  name: "find payment",
  conflictKeys: () => [],
  run: findPayments,
};

async function findPayments(
  sql: Sql,
  wanted: { id: string; owner: OwnerFilter }[],
): Promise<(GatewayPayment | null)[]> {
  const statement = new Statement();
  const ids = statement.ids(wanted.map(({ id }) => id));
  const text = `select ${WHOLE_PAYMENT}, ${FEE} from gateway.payments payment
    where id = any(${ids})`;
  const rows = await statement.run<GatewayPayment>(sql, text);
  const byId = new Map(rows.map((row) => [row.id, parsePayment(row)]));
  return wanted.map(({ id, owner }) => {
    const found = byId.get(id);
    return found && (owner === null || found.user_id === owner) ? found : null;
  });
}

/** The ids in a notification by which its payment is found. */
export interface PaymentReference {
  order_id: string;
  transaction_id: string | null;
  /** The payment id that the service sent with the charge; null: not in the notification. */
  payment_ref: string | null;
}

/**
 * Finds the payment of each notification: by transaction id, if the payment also has the same order
 * id; or by order id, if the payment has no transaction id yet and was not refused. Of several such
 * payments, prefers the one in `payment_ref`, then that with the transaction id, then the newest.
 */
export const paymentLookups: Batched<PaymentReference, GatewayPayment | null> = {
  name: "find payment",
  conflictKeys: () => [],
  run: findReferencedPayments,
};

async function findReferencedPayments(
  sql: Sql,
  references: PaymentReference[],
): Promise<(GatewayPayment | null)[]> {
  const statement = new Statement();
  const numbered = references.map((each, number) => ({ ...each, number }));
  const json = statement.value(JSON.stringify(numbered));
  // Returns one row per reference, in their order; all columns are null if there is no payment.
  const rows = await statement.run<GatewayPayment | { id: null }>(
    sql,
    `select ${WHOLE_PAYMENT}
    from json_to_recordset(${json}::text::json) as wanted(
      number integer, order_id text, transaction_id text, payment_ref uuid)
    left join lateral (
      select * from (
        select * from gateway.payments known
        where known.transaction_id = wanted.transaction_id and known.order_id = wanted.order_id
        union all
        select * from gateway.payments known
        where known.order_id = wanted.order_id and known.transaction_id is null and not is_refused
      ) candidate
      order by coalesce(id = wanted.payment_ref, false) desc, transaction_id, id desc limit 1
    ) payment on true
    order by wanted.number`,
  );
  return rows.map((row) => row.id === null ? null : parsePayment(row));
}

/** Null: no payment has this transaction. */
export async function findPaymentOfTransaction(
  sql: Sql,
  transactionId: string,
): Promise<GatewayPayment | null> {
  const [row] = await sql<GatewayPayment[]>`
    select ${sql.unsafe(WHOLE_PAYMENT)} from gateway.payments payment
    where transaction_id = ${transactionId}`;
  return row ? parsePayment(row) : null;
}

/** What the service has stored about the order id and the transaction of an unanswered charge. */
export interface OrderUse {
  /** True: this payment, or a later one that the gateway refused, reserves the order id. */
  is_reserved: boolean;
  /**
   * The order id of another payment with this transaction. Null: there is no such payment, or it
   * has the same order id and no owner, so that it gives the transaction up.
   */
  taken_by_order: string | null;
}

export async function readOrderUse(
  sql: Sql,
  { id, order_id }: Pick<GatewayPayment, "id" | "order_id">,
  transactionId: string,
): Promise<OrderUse> {
  const [use] = await sql<[OrderUse]>`
    select exists (
      select from gateway.order_ids taken
      where taken.order_id = ${order_id} and (taken.holder_id = ${id} or exists (
        select from gateway.payments payment
        where payment.id = taken.holder_id and payment.is_refused))
    ) as is_reserved, (
      select known.order_id from gateway.payments known
      where known.transaction_id = ${transactionId} and known.id <> ${id}
        and (known.user_id is not null or known.order_id <> ${order_id})
    ) as taken_by_order`;
  return use;
}

/** The payments of an order whose charges got no response; the gateway may have executed them. */
export async function listUnansweredOfOrder(
  sql: Sql,
  orderId: string,
): Promise<GatewayPayment[]> {
  const rows = await sql<GatewayPayment[]>`
    select ${sql.unsafe(WHOLE_PAYMENT)}
    from gateway.payments payment
    where order_id = ${orderId} and transaction_id is null and not is_refused
    order by id`;
  return rows.map(parsePayment);
}

/** Whether a payment that is linked to the invoice was paid at or after `since`. */
export async function isInvoicePaidSince(
  sql: Sql,
  invoiceId: string,
  since: Date,
): Promise<boolean> {
  const rows = await sql`
    select from gateway.payments
    where invoice_id = ${invoiceId} and paid_at >= ${since} limit 1`;
  return rows.length > 0;
}

/** Selects the payment of a row of `filters`. The limit makes PostgreSQL read `filters` first. */
export function paymentOf(sql: Sql, filters: string) {
  return sql`(
      select * from gateway.payments where id = ${sql(filters)}.payment_id limit 1
    ) payment`;
}

export interface DuePayments {
  now: Date;
  /** A pending payment is stale if it expired at this time or earlier. */
  staleSince: Date;
  limit: number;
}

/**
 * Payments due for a check, the longest due first. Leaves out those that `listStalePayments` finds,
 * because `expire_stale_payments` expires them. But if such a payment was due by `overdueSince`, it
 * is included, because that task does not seem to run.
 */
export async function listDuePayments(
  sql: Sql,
  { now, staleSince, overdueSince, limit }: DuePayments & { overdueSince: Date },
): Promise<DueCheck[]> {
  return await sql<DueCheck[]>`
    select payment.id, payment.user_id, payment.created_at, payment.expiry_time
    from gateway.payment_filters due cross join lateral ${paymentOf(sql, "due")}
    where due.check_at <= ${now}
      and (due.check_at <= ${overdueSince} or payment.transaction_status <> 'pending'
        or payment.expiry_time is null or payment.expiry_time > ${staleSince}
        or payment.unrecognized_status is not null)
    order by due.check_at limit ${limit}`;
}

/**
 * Stale payments, except those whose status at the gateway is unknown to the service. A stale
 * payment is also due for a check, so the index of due checks finds it.
 */
export async function listStalePayments(
  sql: Sql,
  { now, staleSince, limit }: DuePayments,
): Promise<DueCheck[]> {
  return await sql<DueCheck[]>`
    select payment.id, payment.user_id, payment.created_at, payment.expiry_time
    from gateway.payment_filters due cross join lateral ${paymentOf(sql, "due")}
    where due.check_at <= ${now} and payment.transaction_status = 'pending'
      and payment.expiry_time <= ${staleSince} and payment.unrecognized_status is null
    order by due.check_at limit ${limit}`;
}
