/** Payments: the model, and the statements that read and write it. */

import type { Sql } from "./database.ts";
import type { NewEvent } from "./events.ts";
import type { ClaimedKey, KeyId } from "./idempotency_keys.ts";
import type { NewJob } from "./jobs.ts";
import { type GatewayRefund, readRefund } from "./refunds.ts";

export interface GatewayPayment {
  id: string;
  /** Null: it belongs to nobody, and staff alone see it. */
  user_id: string | null;
  order_id: string;
  /** Null until the gateway has answered for the first time. */
  transaction_id: string | null;
  payment_type: string;
  bank: string | null;
  store: string | null;
  acquirer: string | null;
  gross_amount: number;
  /** What was taken of it; null while nothing is. */
  captured_amount: number | null;
  refunded_amount: number;
  /** The sum of the refunds that are under way. */
  reserved_amount: number;
  currency: string;
  transaction_status: PaymentStatus;
  fraud_status: string | null;
  status_code: string | null;
  status_message: string | null;
  customer_first_name: string | null;
  customer_last_name: string | null;
  customer_email: string | null;
  customer_phone: string | null;
  va_number: string | null;
  bill_key: string | null;
  biller_code: string | null;
  payment_code: string | null;
  redirect_url: string | null;
  deeplink_url: string | null;
  qr_string: string | null;
  qr_url: string | null;
  transaction_time: Date | null;
  settlement_time: Date | null;
  expiry_time: Date | null;
  metadata: Record<string, unknown> | null;
  custom_field1: string | null;
  custom_field2: string | null;
  custom_field3: string | null;
  invoice_id: string | null;
  subscription_id: string | null;
  /** A card's amount was only to be held: it can be captured in part. */
  is_hold: boolean;
  /** The gateway refused the charge: no transaction exists, and none will. */
  is_refused: boolean;
  /** When it was first known to be paid. */
  paid_at: Date | null;
  /** How often the bank refused to capture it. */
  denied_captures: number;
  /** When its charge was last sent, or about to be. */
  sent_at: Date;
  /** When to ask the gateway, should nobody have heard from it until then. */
  check_at: Date | null;
  event_count: number;
  /** Each change raises it, and holds only for the version it was made of. */
  version: number;
  created_at: Date;
  updated_at: Date;
  items: GatewayPaymentItem[];
  /** In the order of their making. */
  refunds: GatewayRefund[];
}

export interface GatewayPaymentItem {
  id: string;
  payment_id: string;
  position: number;
  item_id: string | null;
  name: string;
  price: number;
  quantity: number;
  brand: string | null;
  category: string | null;
  merchant_name: string | null;
  url: string | null;
}

/** One change of state, in a payment's story. */
export interface NewHistory {
  payment_id: string;
  /** Null: it was made. */
  from_status: string | null;
  to_status: string;
  fraud_status: string | null;
  source: string;
  created_at: Date;
}

export interface PaymentHistory extends NewHistory {
  id: number;
}

/** Every `transaction_status` there is. */
export const PAYMENT_STATUSES = [
  "pending",
  "authorize",
  "capture",
  "settlement",
  "deny",
  "cancel",
  "expire",
  "failure",
  "refund",
  "partial_refund",
  "chargeback",
  "partial_chargeback",
] as const;

export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];

/** Whose payments may be touched; null: everybody's. */
export type Owner = string | null;

export async function findPayment(
  sql: Sql,
  id: string,
  owner: Owner = null,
): Promise<GatewayPayment | null> {
  const [row] = await sql<[GatewayPayment?]>`
    select payment.*,
      coalesce((select json_agg(item order by item.position)
        from gateway.payment_items item where item.payment_id = payment.id), '[]') as items,
      coalesce((select json_agg(refund order by refund.created_at, refund.id)
        from gateway.refunds refund where refund.payment_id = payment.id), '[]') as refunds
    from gateway.payments payment
    where id = ${id} and (${owner}::text is null or user_id = ${owner})`;
  return row ? { ...row, refunds: row.refunds.map(readRefund) } : null;
}

export async function listHistory(sql: Sql, paymentId: string): Promise<PaymentHistory[]> {
  return await sql<PaymentHistory[]>`
    select id, payment_id, from_status, to_status, fraud_status, source, created_at
    from gateway.payment_history where payment_id = ${paymentId} order by id`;
}

export interface ListOptions {
  owner: Owner;
  /** Null: of whichever type. */
  paymentType: string | null;
  /** Null: whichever it is. */
  status: string | null;
  /** Only those made before this one. */
  before: string | null;
  limit: number;
}

const SUMMARY = [
  "id",
  "order_id",
  "payment_type",
  "gross_amount",
  "transaction_status",
  "fraud_status",
  "customer_email",
  "created_at",
] as const;

export type PaymentSummaryRow = Pick<GatewayPayment, (typeof SUMMARY)[number]>;

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Newest first; each kind of list is found by an index of its own, and nothing else is read. */
export async function listPayments(
  sql: Sql,
  { owner, paymentType, status, before, limit }: ListOptions,
): Promise<PaymentSummaryRow[]> {
  const isTheirs = owner === null ? sql`true` : sql`user_id = ${owner}`;
  const page = sql`id < ${before ?? LAST_ID} order by id desc limit ${limit}`;
  if (paymentType === null) {
    const isWanted = status === null ? sql`true` : sql`transaction_status = ${status}`;
    return await sql<PaymentSummaryRow[]>`
      select ${sql(SUMMARY)} from gateway.payments where ${isTheirs} and ${isWanted} and ${page}`;
  }
  // The first page of each status is found by the index; the first of all is among them.
  const statuses = status === null ? PAYMENT_STATUSES : [status];
  return await sql<PaymentSummaryRow[]>`
    select found.*
    from unnest(${sql.array([...statuses])}::text[]) wanted_status
    cross join lateral (
      select ${sql(SUMMARY)} from gateway.payments
      where ${isTheirs} and payment_type = ${paymentType} and transaction_status = wanted_status
        and ${page}
    ) found
    order by found.id desc limit ${limit}`;
}

export interface PaymentInsert {
  payment: GatewayPayment;
  /** Null: the request bears no key. */
  key: ClaimedKey | null;
  /** A key counts no longer when it was made before this. */
  keysSince: Date;
  /** The payment of an earlier try with the same key, in whose place this one comes. */
  replaces: string | null;
}

/**
 * A new payment with its items, the order id it takes and the key it was asked with: in one statement,
 * so in one round trip, all or (where the key is known or the order taken) nothing of the payment.
 */
export async function insertPayment(
  sql: Sql,
  { payment, key, keysSince, replaces }: PaymentInsert,
): Promise<{ isClaimed: boolean; isOrdered: boolean }> {
  const { items, refunds: _, ...row } = payment;
  const [result] = await sql<[{ is_claimed: boolean; is_ordered: boolean }]>`
    with claimed as (
      insert into gateway.idempotency_keys as known
      select * from json_populate_recordset(
        null::gateway.idempotency_keys, ${JSON.stringify(key ? [key] : [])}::text::json)
      on conflict (user_id, scope, key) do update set
        (body_hash, payment_id, refund_id, reply, lease_until, created_at) = row(
          excluded.body_hash, excluded.payment_id, null::uuid, null::json, excluded.lease_until,
          excluded.created_at)
      where known.created_at < ${keysSince} or known.payment_id = ${replaces}
      returning true
    ), ordered as (
      insert into gateway.order_ids as taken (order_id, user_id, holder_id)
      select ${payment.order_id}, ${payment.user_id}, ${payment.id}::uuid
      where ${key === null} or exists (select from claimed)
      -- Only a failure sets an order id free, and only for the same caller.
      on conflict (order_id) do update set holder_id = excluded.holder_id
      where taken.user_id = excluded.user_id and exists (
        select from gateway.payments holder
        where holder.id = taken.holder_id and holder.transaction_status = 'failure')
      returning true
    ), inserted as (
      insert into gateway.payments
      select * from json_populate_record(null::gateway.payments, ${JSON.stringify(row)}::text::json)
      where exists (select from ordered)
      returning id
    ), with_items as (
      insert into gateway.payment_items
      select * from json_populate_recordset(
        null::gateway.payment_items, ${JSON.stringify(items)}::text::json)
      where exists (select from inserted)
    ), with_history as (
      insert into gateway.payment_history (payment_id, to_status, source, created_at)
      select id, ${payment.transaction_status}, 'charge', ${payment.created_at} from inserted
    )
    select exists (select from claimed) as is_claimed, exists (select from ordered) as is_ordered`;
  return { isClaimed: result.is_claimed, isOrdered: result.is_ordered };
}

/** What can change of a payment once it is there. */
const CHANGING = [
  "transaction_id",
  "bank",
  "store",
  "acquirer",
  "captured_amount",
  "refunded_amount",
  "reserved_amount",
  "transaction_status",
  "fraud_status",
  "status_code",
  "status_message",
  "va_number",
  "bill_key",
  "biller_code",
  "payment_code",
  "redirect_url",
  "deeplink_url",
  "qr_string",
  "qr_url",
  "transaction_time",
  "settlement_time",
  "expiry_time",
  "is_refused",
  "paid_at",
  "denied_captures",
  "sent_at",
  "check_at",
  "event_count",
  "updated_at",
] as const satisfies (keyof GatewayPayment)[];

/** A change, and all that is written together with it. */
export interface PaymentWrite {
  /** Its version is the one that was changed; what counts is whether the stored one still is that. */
  payment: GatewayPayment;
  history: NewHistory[];
  events: NewEvent[];
  /** Those that are new or changed. */
  refunds: GatewayRefund[];
  jobs: NewJob[];
  /** What to note of the key the change was asked with. */
  key: KeyUpdate | null;
  /** A key whose holder alone may make the change. */
  fence: HeldKey | null;
}

/** A key as its holder knows it; when somebody else took it over, it is another lease's. */
export interface HeldKey extends KeyId {
  lease_until: Date;
}

export interface KeyUpdate extends KeyId {
  payment_id: string;
  refund_id: string | null;
  reply: object | null;
  lease_until: Date;
}

/**
 * Writes the change unless the payment has changed meanwhile: then nothing is written, and false is
 * the answer. One statement: the row's lock is held for no longer than that.
 */
export async function writePayment(sql: Sql, write: PaymentWrite): Promise<boolean> {
  const { items: _, refunds: __, ...row } = write.payment;
  const { history, events, refunds, jobs, fence } = write;
  const keys = write.key ? [write.key] : [];
  const columns = sql.unsafe(CHANGING.join(", "));
  const [result] = await sql<[{ is_written: boolean }]>`
    with wanted as (
      select * from json_populate_record(null::gateway.payments, ${JSON.stringify(row)}::text::json)
    ), changed as (
      update gateway.payments payment
      set version = payment.version + 1,
        (${columns}) = (select ${columns} from wanted)
      where id = ${row.id} and version = ${row.version}
        and (${fence === null} or exists (
          select from gateway.idempotency_keys held
          where held.user_id = ${fence?.user_id ?? null} and held.scope = ${fence?.scope ?? null}
            and held.key = ${fence?.key ?? null} and held.lease_until = ${
    fence?.lease_until ?? null
  }))
      returning id
    ), with_history as (
      insert into gateway.payment_history
        (payment_id, from_status, to_status, fraud_status, source, created_at)
      select payment_id, from_status, to_status, fraud_status, source, created_at
      from json_populate_recordset(
        null::gateway.payment_history, ${JSON.stringify(history)}::text::json)
      where exists (select from changed)
    ), with_events as (
      insert into gateway.events
      select * from json_populate_recordset(null::gateway.events, ${
    JSON.stringify(events)
  }::text::json)
      where exists (select from changed)
    ), with_refunds as (
      insert into gateway.refunds
      select * from json_populate_recordset(null::gateway.refunds, ${
    JSON.stringify(refunds)
  }::text::json)
      where exists (select from changed)
      on conflict (id) do update set (status, status_code, status_message, updated_at) = row(
        excluded.status, excluded.status_code, excluded.status_message, excluded.updated_at)
    ), with_jobs as (
      insert into gateway.jobs
        (id, task, subject_id, payload, user_id, run_at, created_at, updated_at)
      select id, task, subject_id, payload, user_id, run_at, created_at, created_at
      from json_populate_recordset(null::gateway.jobs, ${JSON.stringify(jobs)}::text::json)
      where exists (select from changed)
      on conflict do nothing
    ), with_key as (
      update gateway.idempotency_keys known
      set (payment_id, refund_id, reply, lease_until) = row(
        news.payment_id, news.refund_id, news.reply, news.lease_until)
      from json_populate_recordset(
        null::gateway.idempotency_keys, ${JSON.stringify(keys)}::text::json) news
      where known.user_id = news.user_id and known.scope = news.scope and known.key = news.key
        and known.reply is null and exists (select from changed)
    )
    select exists (select from changed) as is_written`;
  return result.is_written;
}

export interface DueCheck {
  now: Date;
  limit: number;
}

/** Payments whose time for a look has come, the most overdue first. */
export async function listDueChecks(
  sql: Sql,
  { now, limit }: DueCheck,
): Promise<Pick<GatewayPayment, "id" | "user_id" | "created_at">[]> {
  return await sql<Pick<GatewayPayment, "id" | "user_id" | "created_at">[]>`
    select id, user_id, created_at from gateway.payments
    where check_at <= ${now} order by check_at limit ${limit}`;
}

/** The next look at each; by itself no change of a payment, so its version stays. */
export async function postponeChecks(
  sql: Sql,
  checks: { id: string; check_at: Date }[],
): Promise<void> {
  await sql`
    update gateway.payments payment set check_at = next.check_at
    from json_populate_recordset(null::gateway.payments, ${JSON.stringify(checks)}::text::json) next
    where payment.id = next.id`;
}
