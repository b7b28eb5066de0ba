/** The list of payments and its filters. `list_walk.ts` describes how a list reads its index. */

import { MAX, NIL } from "uuid";
import type { Sql } from "../connection/database.ts";
import {
  type Fragment,
  idBounds,
  idRange,
  type IndexRange,
  type ListBounds,
  mergedWalk,
  ownerPrefix,
  rangeWalk,
  readWalk,
  timeBounds,
  type Walk,
  type WalkedPage,
} from "../records/list_walk.ts";
import { type GatewayPayment, PAYMENT_STATUSES } from "./payments.ts";
import type { OwnerFilter } from "../records/records.ts";

/** The rare fraud statuses. Only these are indexed. */
const FRAUD_ALERTS = ["challenge", "deny"];

/** A missing member: any value. */
export interface PaymentConditions {
  order_id?: string;
  invoice_id?: string;
  subscription_id?: string;
  transaction_id?: string;
  va_number?: string;
  customer_email?: string;
  customer_phone?: string;
  /** One of these. */
  status?: readonly string[];
  /** One of these. */
  payment_type?: readonly string[];
  fraud_status?: string;
  /** Inclusive. */
  settled_from?: Date;
  /** Exclusive. */
  settled_to?: Date;
  min_amount?: number;
  max_amount?: number;
}

export interface PaymentFilter extends PaymentConditions, ListBounds {
  owner: OwnerFilter;
  limit: number;
}

export const SUMMARY_COLUMNS = [
  "id",
  "user_id",
  "order_id",
  "payment_type",
  "gross_amount",
  "captured_amount",
  "refunded_amount",
  "chargeback_amount",
  "transaction_status",
  "fraud_status",
  "customer_first_name",
  "customer_email",
  "settlement_time",
  "created_at",
] as const;

export type PaymentSummaryRow = Pick<GatewayPayment, (typeof SUMMARY_COLUMNS)[number]>;

/** Newest first; by settlement time if `isBySettlement`. */
export async function listPayments(
  sql: Sql,
  filter: PaymentFilter,
): Promise<WalkedPage<PaymentSummaryRow>> {
  const walk = chooseWalk(sql, filter);
  if (walk === null) return { rows: await listAll(sql, filter), examinedTo: null };
  return await readWalk(sql, walk, {
    table: "payments",
    columns: SUMMARY_COLUMNS,
    conditions: conditionsOf(sql, filter),
    limit: filter.limit,
  });
}

/** The newest payments of these invoices and subscriptions. */
export async function listPaymentsOf(
  sql: Sql,
  invoiceIds: readonly string[],
  subscriptionIds: readonly string[],
  limit: number,
): Promise<PaymentSummaryRow[]> {
  return await sql<PaymentSummaryRow[]>`
    select ${sql(SUMMARY_COLUMNS)} from gateway.payments
    where invoice_id = any(${[...invoiceIds]}::uuid[])
      or subscription_id = any(${[...subscriptionIds]}::uuid[])
    order by id desc limit ${limit}`;
}

/** Whether there is a payment of this type. Reads an index entry for each status. */
export async function hasType(sql: Sql, type: string): Promise<boolean> {
  const [row] = await sql<[{ has_type: boolean }]>`
    select exists (
      select from unnest(${[...PAYMENT_STATUSES]}::text[]) status cross join lateral (
        select from gateway.payment_filters
        where transaction_status = status and payment_type = ${type}::text limit 1
      ) found
    ) as has_type`;
  return row.has_type;
}

/** Whether a list is sorted by settlement time: it has a filter by that, and none of `LOOKUPS`. */
export function isBySettlement(filter: PaymentConditions): boolean {
  const isSettled = filter.settled_from !== undefined || filter.settled_to !== undefined;
  return isSettled && LOOKUPS.every((name) => filter[name] === undefined);
}

/** Filters that find few payments and have their own index. The most selective come first. */
export const LOOKUPS = [
  "transaction_id",
  "order_id",
  "va_number",
  "invoice_id",
  "subscription_id",
  "customer_email",
  "customer_phone",
] as const;

/** Null: the only filters are the owner and the time of creation, or there is no filter. */
function chooseWalk(sql: Sql, filter: PaymentFilter): Walk | null {
  const lookup = LOOKUPS.find((name) => filter[name] !== undefined);
  if (lookup) {
    const others = countFilters(filter, [lookup]) + (filter.owner === null ? 0 : 1);
    return rangeWalk(sql, lookupRange(sql, filter, lookup), others > 0);
  }
  if (isBySettlement(filter)) {
    const others = countFilters(filter, ["settled_from", "settled_to"]);
    const isCreatedBetween = filter.firstId !== undefined || filter.endId !== undefined;
    return rangeWalk(sql, settlementRange(sql, filter), others > 0 || isCreatedBetween);
  }
  if (filter.fraud_status !== undefined && FRAUD_ALERTS.includes(filter.fraud_status)) {
    const others = countFilters(filter, ["fraud_status"]);
    return rangeWalk(sql, fraudRange(sql, filter, filter.fraud_status), others > 0);
  }
  const others = countFilters(filter, ["status", "payment_type"]);
  if (filter.status || filter.payment_type) return statesWalk(sql, filter, others > 0);
  if (others === 0) return null;
  return rangeWalk(sql, idRange("payments", ownerPrefix(sql, filter.owner), filter), true);
}

const CONDITION_NAMES = [
  ...LOOKUPS,
  "status",
  "payment_type",
  "fraud_status",
  "settled_from",
  "settled_to",
  "min_amount",
  "max_amount",
] as const satisfies (keyof PaymentConditions)[];

/** The number of filters that are not among these. */
function countFilters(filter: PaymentFilter, except: (keyof PaymentConditions)[]): number {
  return CONDITION_NAMES.filter((name) => filter[name] !== undefined && !except.includes(name))
    .length;
}

function lookupRange(
  sql: Sql,
  filter: PaymentFilter,
  name: (typeof LOOKUPS)[number],
): IndexRange {
  const bounds = { timeColumn: null, ...idBounds(filter) };
  const value = filter[name]!;
  const keyRange = (kind: "e" | "p" | "v", key: Fragment): IndexRange => ({
    table: "payment_search_keys",
    idColumn: "payment_id",
    prefix: [["kind", sql`${kind}::text::"char"`], ["value", key]],
    condition: null,
    ...bounds,
  });
  if (name === "customer_email") return keyRange("e", sql`gateway.email_key(${value})`);
  if (name === "customer_phone") return keyRange("p", sql`gateway.phone_key(${value})`);
  if (name === "va_number") return keyRange("v", sql`${value}::text`);
  const isId = name === "invoice_id" || name === "subscription_id";
  return {
    table: "payments",
    idColumn: "id",
    prefix: [[name, isId ? sql`${value}::uuid` : sql`${value}::text`]],
    // The indexes of linked payments have this condition.
    condition: isId ? sql`${sql(name)} is not null` : null,
    ...bounds,
  };
}

function settlementRange(sql: Sql, filter: PaymentFilter): IndexRange {
  return {
    table: "payment_filters",
    idColumn: "payment_id",
    timeColumn: "settlement_time",
    prefix: ownerPrefix(sql, filter.owner),
    condition: sql`settlement_time is not null`,
    ...timeBounds(filter.after, filter.settled_from, filter.settled_to),
  };
}

function fraudRange(sql: Sql, filter: PaymentFilter, alert: string): IndexRange {
  return {
    table: "payment_filters",
    idColumn: "payment_id",
    timeColumn: null,
    prefix: [...ownerPrefix(sql, filter.owner), ["fraud_alert", sql`${alert}::text`]],
    condition: sql`fraud_alert is not null`,
    ...idBounds(filter),
  };
}

/** One range for each pair of a status and a type. */
function statesWalk(sql: Sql, filter: PaymentFilter, isFiltered: boolean): Walk {
  const { owner, status, payment_type } = filter;
  const ranges = payment_type
    ? rangesOfTypes(sql, payment_type, status ?? PAYMENT_STATUSES)
    : rangesOfStatuses(sql, status!, owner);
  const range: IndexRange = {
    table: "payment_filters",
    idColumn: "payment_id",
    timeColumn: null,
    prefix: [
      ...ownerPrefix(sql, owner),
      ["transaction_status", sql`state.status`],
      ["payment_type", sql`state.type`],
    ],
    condition: null,
    ...idBounds(filter),
  };
  return mergedWalk(sql, ranges, range, isFiltered);
}

/** A CTE with each pair of a status and a type. */
function rangesOfTypes(sql: Sql, types: readonly string[], statuses: readonly string[]) {
  return sql`state as (
      select status, type from unnest(${sql.array([...statuses])}::text[]) status
      cross join unnest(${sql.array([...types])}::text[]) type
    )`;
}

/**
 * A CTE with each pair of one of these statuses and a type that payments of that status have. The
 * gateway can add types, so the CTE finds them in the index, one after the other.
 */
function rangesOfStatuses(sql: Sql, statuses: readonly string[], owner: OwnerFilter) {
  const [ownerColumn, ownerValue] = owner === null
    ? [sql``, sql``]
    : [sql`user_id,`, sql`${owner}::text,`];
  return sql`known as (
      select status, ''::text as type from unnest(${sql.array([...statuses])}::text[]) status
      union all
      select known.status, (
        select type from (
          select user_id, transaction_status as status, payment_type as type
          from gateway.payment_filters
          where (${ownerColumn} transaction_status, payment_type)
              > (${ownerValue} known.status, known.type)
          order by ${ownerColumn} transaction_status, payment_type limit 1
        ) next
        -- After the limit: before version 18, PostgreSQL would read on with this condition.
        where next.status = known.status and (${owner}::text is null or next.user_id = ${owner})
      ) from known where known.type is not null
    ), state as (
      select status, type from known where type <> ''
    )`;
}

/** The SQL is the same for all combinations of filters: each walk has one prepared statement. */
function conditionsOf(sql: Sql, filter: PaymentFilter) {
  const { owner, status, payment_type } = filter;
  const value = <N extends keyof PaymentFilter>(name: N) => filter[name] ?? null;
  const array = (values: readonly string[] | undefined) => values ? sql.array([...values]) : null;
  return sql`
      (${owner}::text is null or record.user_id = ${owner})
      and record.id >= ${filter.firstId ?? NIL}::uuid and record.id < ${filter.endId ?? MAX}::uuid
      and (${value("order_id")}::text is null or record.order_id = ${value("order_id")})
      and (${value("invoice_id")}::uuid is null or record.invoice_id = ${value("invoice_id")})
      and (${value("subscription_id")}::uuid is null
        or record.subscription_id = ${value("subscription_id")})
      and (${value("transaction_id")}::text is null
        or record.transaction_id = ${value("transaction_id")})
      and (${value("va_number")}::text is null or record.va_number = ${value("va_number")})
      and (${value("customer_email")}::text is null
        or gateway.email_key(record.customer_email) = gateway.email_key(${value("customer_email")}))
      and (${value("customer_phone")}::text is null
        or gateway.phone_key(record.customer_phone) = gateway.phone_key(${value("customer_phone")}))
      and (${array(status)}::text[] is null or record.transaction_status = any(${array(status)}))
      and (${array(payment_type)}::text[] is null or record.payment_type = any(${
    array(payment_type)
  }))
      and (${value("fraud_status")}::text is null or record.fraud_status = ${value("fraud_status")})
      and (${value("settled_from")}::timestamptz is null
        or record.settlement_time >= ${value("settled_from")})
      and (${value("settled_to")}::timestamptz is null
        or record.settlement_time < ${value("settled_to")})
      and (${value("min_amount")}::bigint is null or record.gross_amount >= ${value("min_amount")})
      and (${value("max_amount")}::bigint is null or record.gross_amount <= ${
    value("max_amount")
  })`;
}

/** All payments, or all payments of one owner. */
async function listAll(sql: Sql, filter: PaymentFilter): Promise<PaymentSummaryRow[]> {
  const { owner, limit } = filter;
  const { start, end } = idBounds(filter);
  const [ownerColumn, ownerValue, ownerOrder] = owner === null
    ? [sql``, sql``, sql``]
    : [sql`user_id,`, sql`${owner}::text,`, sql`user_id desc,`];
  // `newestInRange` in `list_walk.ts` explains why `start` comes after the limit.
  return await sql<PaymentSummaryRow[]>`
    select * from (
      select ${sql(SUMMARY_COLUMNS)} from gateway.payments
      where (${ownerColumn} id) < (${ownerValue} ${end?.id ?? MAX}::uuid)
        and (${ownerColumn} id) >= (${ownerValue} ${NIL}::uuid)
      order by ${ownerOrder} id desc limit ${limit}
    ) newest
    where id >= ${start?.id ?? NIL}::uuid order by id desc`;
}

/** How many of the newest payments without a response are examined at most. */
const MAX_UNANSWERED = 1_000;

/**
 * Selects pending payments that were created before this time and got no response from the gateway.
 * The index also contains payments that ended without a response. Those that are pending are among
 * the newest, because they end after 15 minutes, with DANA after a day. Sorted like the index, so
 * that PostgreSQL uses the index.
 */
export function unansweredPayments(sql: Sql, createdBefore: Date): Fragment {
  return sql`
    select * from (
      select ${sql(SUMMARY_COLUMNS)} from gateway.payments
      where transaction_id is null and not is_refused
      order by (transaction_id is null) desc, id desc limit ${MAX_UNANSWERED}
    ) unanswered
    where transaction_status = 'pending' and created_at < ${createdBefore}`;
}

/** How many of the newest payments that were paid without an owner are examined at most. */
const MAX_OWNERLESS = 1_000;

/**
 * Selects the ids of paid payments without an owner, which no invoice or subscription explains: a
 * payment that is linked to one has its owner. The limit keeps the cost independent of the tables.
 */
export function ownerlessPayments(sql: Sql, paidSince: Date): Fragment {
  return sql`
    select payment_id from (
      select payment_id, transaction_status, paid_at from gateway.payment_filters
      where user_id is null and paid_at is not null
      order by (user_id is null) desc, payment_id desc limit ${MAX_OWNERLESS}
    ) ownerless
    where paid_at >= ${paidSince}
      and transaction_status in ('capture', 'settlement', 'partial_refund', 'partial_chargeback')`;
}

/** Newest first. `before`: only payments after this one in the list. */
export async function listOwnerless(
  sql: Sql,
  { paidSince, before, limit }: { paidSince: Date; before: string | null; limit: number },
): Promise<PaymentSummaryRow[]> {
  return await sql<PaymentSummaryRow[]>`
    select ${sql(SUMMARY_COLUMNS)} from gateway.payments
    where id = any(array(
      ${ownerlessPayments(sql, paidSince)} and payment_id < ${before ?? MAX}::uuid
      order by payment_id desc limit ${limit}))
    order by id desc`;
}

/** Newest first. `before`: only payments after this one in the list. */
export async function listUnanswered(
  sql: Sql,
  { createdBefore, before, limit }: { createdBefore: Date; before: string | null; limit: number },
): Promise<PaymentSummaryRow[]> {
  return await sql<PaymentSummaryRow[]>`
    ${unansweredPayments(sql, createdBefore)} and id < ${before ?? MAX}::uuid
    order by id desc limit ${limit}`;
}
