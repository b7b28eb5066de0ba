/** Checkouts and their attempts: the model, and the statements that read and write them. */

import { MAX, NIL } from "uuid";
import { columnNames, fixed, mutable, mutableNames, type RowOf } from "../records/columns.ts";
import type { Sql } from "../connection/database.ts";
import {
  idRange,
  type IndexRange,
  type ListBounds,
  mergedWalk,
  ownerPrefix,
  rangeWalk,
  readWalk,
  statesCte,
  type Walk,
  type WalkedPage,
} from "../records/list_walk.ts";
import type { CheckoutAttempt } from "../records/attempts.ts";
import type { OwnerFilter } from "../records/records.ts";
import { Statement } from "../records/statement.ts";
import { batchedUpdate } from "../writing/record_writes.ts";

export type { CheckoutAttempt } from "../records/attempts.ts";

/**
 * - `open`: the customer can pay;
 * - `processing`: the gateway has the payment, but it is authorized or under review;
 * - `paid`: final;
 * - `expired`, `cancelled`: final, unless the customer paid at the last moment.
 */
export const CHECKOUT_STATUSES = ["open", "processing", "paid", "expired", "cancelled"] as const;

export type CheckoutStatus = (typeof CHECKOUT_STATUSES)[number];

/** A new column needs a migration and a line here; see `PAYMENT_COLUMNS`. */
export const CHECKOUT_COLUMNS = {
  id: fixed<string>(),
  user_id: fixed<string>(),
  order_id: fixed<string>(),
  status: mutable<CheckoutStatus>(),
  gross_amount: fixed<number>(),
  currency: fixed<string>(),
  item_details: fixed<CheckoutItem[] | null>(),
  customer_details: fixed<Record<string, unknown> | null>(),
  /** Null: every method that can work. */
  enabled_payments: fixed<string[] | null>(),
  /** Methods that the gateway refused for this checkout. */
  refused_payments: mutable<string[]>(),
  finish_url: fixed<string | null>(),
  cancel_url: fixed<string | null>(),
  language: fixed<"id" | "en" | null>(),
  metadata: fixed<Record<string, unknown> | null>(),
  custom_fields: fixed<string[] | null>(),
  expires_at: fixed<Date>(),
  /** When it was paid, expired or cancelled. */
  ended_at: mutable<Date | null>(),
  /** The payment that paid it. */
  payment_id: mutable<string | null>(),
  /** Another payment that was paid as well. */
  extra_payment_id: mutable<string | null>(),
  is_late: mutable<boolean>(),
  /** When to look at it if no payment changes earlier; null: never. */
  check_at: mutable<Date | null>(),
  created_by: fixed<string | null>(),
  event_count: mutable<number>(),
  version: fixed<number>(),
  created_at: fixed<Date>(),
  updated_at: mutable<Date>(),
};

export interface CheckoutItem {
  id?: string;
  name: string;
  price: number;
  quantity: number;
}

export interface GatewayCheckout extends RowOf<typeof CHECKOUT_COLUMNS> {
  /** In the order of their numbers. */
  attempts: CheckoutAttempt[];
}

export const checkoutWrites = batchedUpdate<GatewayCheckout>(
  "checkouts",
  mutableNames(CHECKOUT_COLUMNS),
);

/** The statement must name the table `checkout`. */
const WHOLE_CHECKOUT = `checkout.*,
      coalesce((select json_agg(attempt order by attempt.number)
        from gateway.checkout_attempts attempt where attempt.checkout_id = checkout.id), '[]')
        as attempts`;

export async function findCheckout(
  sql: Sql,
  id: string,
  owner: OwnerFilter = null,
): Promise<GatewayCheckout | null> {
  const [row] = await sql<[GatewayCheckout?]>`
    select ${sql.unsafe(WHOLE_CHECKOUT)} from gateway.checkouts checkout
    where id = ${id} and (${owner}::text is null or user_id = ${owner})`;
  return row ? withTimes(row) : null;
}

/** Null: no attempt of a checkout has this order id. */
export async function findCheckoutOfOrder(
  sql: Sql,
  orderId: string,
): Promise<GatewayCheckout | null> {
  const [row] = await sql<[GatewayCheckout?]>`
    select ${sql.unsafe(WHOLE_CHECKOUT)} from gateway.checkouts checkout
    where id = (
      select checkout_id from gateway.checkout_attempts where order_id = ${orderId})`;
  return row ? withTimes(row) : null;
}

/** JSON has the times of the attempts as text. */
function withTimes(checkout: GatewayCheckout): GatewayCheckout {
  const attempts = checkout.attempts.map((attempt) => ({
    ...attempt,
    created_at: new Date(attempt.created_at),
    closed_at: attempt.closed_at && new Date(attempt.closed_at),
    page_requested_at: attempt.page_requested_at && new Date(attempt.page_requested_at),
    page_ends_at: attempt.page_ends_at && new Date(attempt.page_ends_at),
    page_checked_at: attempt.page_checked_at && new Date(attempt.page_checked_at),
  }));
  return { ...checkout, attempts };
}

/** Inserts the checkout with its first history entry; call `reserveOrderIds` before. */
export async function insertCheckout(sql: Sql, checkout: GatewayCheckout): Promise<void> {
  const statement = new Statement();
  const names = columnNames(CHECKOUT_COLUMNS).join(", ");
  await statement.run(
    sql,
    `with inserted as (
      insert into gateway.checkouts (${names})
      select ${names} from ${statement.rows("checkouts", [checkout])}
      returning id, status, created_by, created_at
    )
    insert into gateway.history (resource, resource_id, to_status, source, actor, created_at)
    select 'checkout', id, status, 'create', created_by, created_at from inserted`,
  );
}

/**
 * Keeps an attempt that has no payment from ever getting one: its order id is taken from the
 * checkout. False: it has a payment.
 */
export async function revokeOrderId(
  sql: Sql,
  { order_id, checkout_id, id }: CheckoutAttempt,
): Promise<boolean> {
  const changed = await sql`
    update gateway.order_ids set holder_id = ${id}
    where order_id = ${order_id} and holder_id in (${checkout_id}, ${id}) returning 1`;
  return changed.length > 0;
}

/** A missing member: any value. */
export interface CheckoutConditions {
  /** One of these. */
  status?: readonly string[];
  order_id?: string;
}

export interface CheckoutFilter extends CheckoutConditions, ListBounds {
  owner: OwnerFilter;
  limit: number;
}

/** Newest first. `list_walk.ts` explains how a filtered list is read. */
export async function listCheckouts(
  sql: Sql,
  filter: CheckoutFilter,
): Promise<WalkedPage<GatewayCheckout>> {
  const { owner } = filter;
  const status = filter.status ? sql.array([...filter.status]) : null;
  const orderId = filter.order_id ?? null;
  const page = await readWalk<GatewayCheckout>(sql, chooseWalk(sql, filter), {
    table: "checkouts",
    columns: columnNames(CHECKOUT_COLUMNS),
    more: sql`, coalesce((select json_agg(attempt order by attempt.number)
        from gateway.checkout_attempts attempt where attempt.checkout_id = record.id), '[]')
        as attempts`,
    conditions: sql`
      (${owner}::text is null or record.user_id = ${owner})
      and record.id >= ${filter.firstId ?? NIL}::uuid and record.id < ${filter.endId ?? MAX}::uuid
      and (${status}::text[] is null or record.status = any(${status}))
      and (${orderId}::text is null or record.order_id = ${orderId})`,
    limit: filter.limit,
  });
  return { ...page, rows: page.rows.map(withTimes) };
}

function chooseWalk(sql: Sql, filter: CheckoutFilter): Walk {
  const { owner, status } = filter;
  const range = (prefix: IndexRange["prefix"]) => idRange("checkouts", prefix, filter);
  if (filter.order_id !== undefined) {
    return rangeWalk(sql, range([["order_id", sql`${filter.order_id}::text`]]), true);
  }
  if (!status) return rangeWalk(sql, range(ownerPrefix(sql, owner)), false);
  const byStatus = range([...ownerPrefix(sql, owner), ["status", sql`state.status`]]);
  return mergedWalk(sql, statesCte(sql, status), byStatus, false);
}

/** Checkouts to look at now, the one that has waited longest first. */
export async function listDueCheckouts(
  sql: Sql,
  now: Date,
  limit: number,
): Promise<{ id: string; user_id: string }[]> {
  return await sql<{ id: string; user_id: string }[]>`
    select id, user_id from gateway.checkouts
    where check_at <= ${now} order by check_at limit ${limit}`;
}

/** What staff have to decide about a paid checkout. */
export const CHECKOUT_ALERTS = ["paid_twice", "paid_late"] as const;

export type CheckoutAlert = (typeof CHECKOUT_ALERTS)[number];

/** How many checkouts with an alert are examined at most: the newest. */
const MAX_EXAMINED = 1_000;

/** The payment has not been refunded in full, nor charged back. */
const IS_NOT_RETURNED = `payment.transaction_status in
        ('capture', 'settlement', 'partial_refund', 'partial_chargeback')`;

/**
 * Selects the ids of checkouts with an alert since this time whose money was not returned: paid
 * twice, until one of the two payments is refunded; or paid late, until the payment is refunded.
 * `examined` keeps the cost independent of the tables.
 */
export function checkoutsWithAlert(
  sql: Sql,
  alert: CheckoutAlert,
  paidSince: Date,
  examined = MAX_EXAMINED,
) {
  return alert === "paid_twice"
    ? sql`
    select id from (
      select id, payment_id, extra_payment_id from gateway.checkouts
      where extra_payment_id is not null order by id desc limit ${examined}
    ) twice
    where 2 = (
      select count(*) from gateway.payments payment
      where payment.id in (twice.payment_id, twice.extra_payment_id)
        and ${sql.unsafe(IS_NOT_RETURNED)}
      having max(payment.paid_at) >= ${paidSince})`
    : sql`
    select id from (
      select id, payment_id, ended_at from gateway.checkouts
      where is_late order by id desc limit ${examined}
    ) paid
    where ended_at >= ${paidSince} and exists (
      select from gateway.payments payment
      where payment.id = paid.payment_id and ${sql.unsafe(IS_NOT_RETURNED)})`;
}

/** Newest first. `before`: only checkouts after this one in the list. */
export async function listCheckoutsWithAlert(
  sql: Sql,
  alert: CheckoutAlert,
  { paidSince, before, limit }: { paidSince: Date; before: string | null; limit: number },
  examined?: number,
): Promise<GatewayCheckout[]> {
  const rows = await sql<GatewayCheckout[]>`
    select ${sql.unsafe(WHOLE_CHECKOUT)} from gateway.checkouts checkout
    where id = any(array(
      ${checkoutsWithAlert(sql, alert, paidSince, examined)} and id < ${before ?? MAX}::uuid
      order by id desc limit ${limit}))
    order by id desc`;
  return rows.map(withTimes);
}
