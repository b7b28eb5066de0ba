/** The statements that read and write payments. */

import { MAX, NIL } from "uuid";
import type { Batched } from "./batched.ts";
import type { Sql } from "./database.ts";
import {
  CHANGING_COLUMNS,
  type GatewayPayment,
  ITEM_COLUMNS,
  type Owner,
  PAYMENT_COLUMNS,
  PAYMENT_STATUSES,
  readRefund,
} from "./payments.ts";
import { inserting, writing } from "./record_writes.ts";
import type { DueCheck } from "./records.ts";
import {
  type Changing,
  type SideEffects,
  type WriteResult,
  writeWithSideEffects,
} from "./side_effects.ts";
import { Statement } from "./statement.ts";

/** The statements by which payments are made, and changed. */
export const paymentInserts = inserting<GatewayPayment>({
  resource: "payment",
  table: "payments",
  columns: PAYMENT_COLUMNS,
  status: "transaction_status",
  source: "charge",
  orderOf: ({ order_id }) => order_id,
  items: { table: "payment_items", columns: ITEM_COLUMNS, of: ({ items }) => items },
});

export const paymentWrites = writing<GatewayPayment>("payments", CHANGING_COLUMNS);

const COLUMNS = PAYMENT_COLUMNS.join(", ");

/** Nothing is written where its transaction has a payment already: of many who try at once, one does. */
export async function adoptPayment(
  sql: Sql,
  write: SideEffects & { record: GatewayPayment },
): Promise<WriteResult> {
  const adopting: Changing = (statement, unless) => [
    `changed as (
      insert into gateway.payments (${COLUMNS})
      select ${COLUMNS} from ${statement.rows("payments", [write.record])}
      where true ${unless}
      on conflict (transaction_id) do nothing
      returning id
    )`,
  ];
  const [written] = await writeWithSideEffects(sql, adopting, [write]);
  return written!;
}

/** A payment with all that is part of it, selected from `gateway.payments payment`. */
export const WHOLE_PAYMENT = `payment.*,
      coalesce((select json_agg(item order by item.position)
        from gateway.payment_items item where item.payment_id = payment.id), '[]') as items,
      coalesce((select json_agg(refund order by refund.created_at, refund.id)
        from gateway.refunds refund where refund.payment_id = payment.id), '[]') as refunds`;

/** The row itself: a copy of so many columns would cost more than reading them. */
export function readPayment(row: GatewayPayment): GatewayPayment {
  row.refunds = row.refunds.map(readRefund);
  return row;
}

export async function findPayment(
  sql: Sql,
  id: string,
  owner: Owner = null,
): Promise<GatewayPayment | null> {
  const [row] = await sql<[GatewayPayment?]>`
    select ${sql.unsafe(WHOLE_PAYMENT)}
    from gateway.payments payment
    where id = ${id} and (${owner}::text is null or user_id = ${owner})`;
  return row ? readPayment(row) : null;
}

/** Whether any payment is linked to the invoice that was paid, and since then. */
export async function hasPaymentOfInvoice(
  sql: Sql,
  invoiceId: string,
  since: Date,
): Promise<boolean> {
  const rows = await sql`
    select from gateway.payments
    where invoice_id = ${invoiceId} and paid_at >= ${since} limit 1`;
  return rows.length > 0;
}

export interface PaymentFilter {
  owner: Owner;
  /** Only those of this order, invoice, subscription; of whichever where it is empty. */
  parents: Partial<Record<"order_id" | "invoice_id" | "subscription_id", string>>;
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

/** Newest first. */
export async function listPayments(
  sql: Sql,
  { parents, ...options }: PaymentFilter,
): Promise<PaymentSummaryRow[]> {
  return Object.keys(parents).length === 0
    ? await listAll(sql, options)
    : await listOfParents(sql, { parents, ...options });
}

/**
 * One order, invoice or subscription has few: all are found by its index, and looked through.
 * Materialized, so that nothing else of what is asked for can tempt PostgreSQL to another index.
 */
async function listOfParents(
  sql: Sql,
  { owner, parents, paymentType, status, before, limit }: PaymentFilter,
): Promise<PaymentSummaryRow[]> {
  const [[kind, parent]] = Object.entries(parents) as [[string, string]];
  const { order_id = null, invoice_id = null, subscription_id = null } = parents;
  return await sql<PaymentSummaryRow[]>`
    with found as materialized (select * from gateway.payments where ${sql(kind)} = ${parent})
    select ${sql(SUMMARY)} from found
    where id < ${before ?? MAX}
      and (${owner}::text is null or user_id = ${owner})
      and (${order_id}::text is null or order_id = ${order_id})
      and (${invoice_id}::uuid is null or invoice_id = ${invoice_id})
      and (${subscription_id}::uuid is null or subscription_id = ${subscription_id})
      and (${paymentType}::text is null or payment_type = ${paymentType})
      and (${status}::text is null or transaction_status = ${status})
    order by id desc limit ${limit}`;
}

/**
 * Each kind of list is found by an index of its own, and nothing else is read. Rows are compared as a
 * whole and ordered by all that is compared, since then no other index will do: with `=` PostgreSQL
 * is free to walk the table backwards instead, in the hope of meeting enough of them soon.
 */
async function listAll(
  sql: Sql,
  { owner, paymentType, status, before, limit }: Omit<PaymentFilter, "parents">,
): Promise<PaymentSummaryRow[]> {
  const [ofOwner, theOwner, byOwner] = owner === null
    ? [sql``, sql``, sql``]
    : [sql`user_id,`, sql`${owner}::text,`, sql`user_id desc,`];
  const end = before ?? MAX;
  if (paymentType === null) {
    const [ofStatus, theStatus, byStatus] = status === null
      ? [sql``, sql``, sql``]
      : [sql`transaction_status,`, sql`${status}::text,`, sql`transaction_status desc,`];
    return await sql<PaymentSummaryRow[]>`
      select ${sql(SUMMARY)} from gateway.payments
      where (${ofOwner} ${ofStatus} id) < (${theOwner} ${theStatus} ${end}::uuid)
        and (${ofOwner} ${ofStatus} id) >= (${theOwner} ${theStatus} ${NIL}::uuid)
      order by ${byOwner} ${byStatus} id desc limit ${limit}`;
  }
  // The first page of each status is found by the index; the first of all is among them.
  const statuses = status === null ? PAYMENT_STATUSES : [status];
  return await sql<PaymentSummaryRow[]>`
    select found.*
    from unnest(${sql.array([...statuses])}::text[]) wanted_status
    cross join lateral (
      select ${sql(SUMMARY)} from gateway.payments
      where (${ofOwner} payment_type, transaction_status, id)
          < (${theOwner} ${paymentType}::text, wanted_status, ${end}::uuid)
        and (${ofOwner} payment_type, transaction_status, id)
          >= (${theOwner} ${paymentType}::text, wanted_status, ${NIL}::uuid)
      order by ${byOwner} payment_type desc, transaction_status desc, id desc limit ${limit}
    ) found
    order by found.id desc limit ${limit}`;
}

export interface Told {
  order_id: string;
  /** Null: it does not say. */
  transaction_id: string | null;
  /** The payment that it says it was charged for; null: none. */
  payment_ref: string | null;
}

/**
 * By the transaction, if that is of the same order; or by the order, where the payment still waits for
 * its first answer, or was given up waiting.
 */
export const paymentLookups: Batched<Told, GatewayPayment | null> = {
  name: "find payment",
  touches: () => [],
  run: findToldPayments,
};

async function findToldPayments(sql: Sql, told: Told[]): Promise<(GatewayPayment | null)[]> {
  const statement = new Statement();
  const json = statement.value(JSON.stringify(told.map((each, number) => ({ ...each, number }))));
  // A row for each, in their order, so that none has to be taken apart.
  const rows = await statement.run<GatewayPayment | Absent>(
    sql,
    `select ${WHOLE_PAYMENT}
    from json_to_recordset(${json}::text::json) as told(
      number integer, order_id text, transaction_id text, payment_ref uuid)
    left join lateral (
      select * from (
        select * from gateway.payments known
        where known.transaction_id = told.transaction_id and known.order_id = told.order_id
        union all
        select * from gateway.payments known
        where known.order_id = told.order_id and known.transaction_id is null and not is_refused
      ) candidate
      order by transaction_id, coalesce(id = told.payment_ref, false) desc, id desc limit 1
    ) payment on true
    order by told.number`,
  );
  return rows.map((row) => row.id === null ? null : readPayment(row));
}

/** There is none: all its columns are null. */
interface Absent {
  id: null;
}

export interface DuePayments {
  now: Date;
  /** What waits for its customer and could be paid until then, or not even as long, is stale. */
  staleSince: Date;
  limit: number;
}

/** As above; without those that are stale, unless they are due since `leftSince`, or even longer. */
export async function listDuePayments(
  sql: Sql,
  { now, staleSince, leftSince, limit }: DuePayments & { leftSince: Date },
): Promise<DueCheck[]> {
  return await sql<DueCheck[]>`
    select id, user_id, created_at, expiry_time from gateway.payments
    where check_at <= ${now}
      and (check_at <= ${leftSince} or transaction_status <> 'pending' or expiry_time is null
        or expiry_time > ${staleSince})
    order by check_at limit ${limit}`;
}

/** Those that are stale, and due: whoever waits is due when that is over, so no other index is needed. */
export async function listStalePayments(
  sql: Sql,
  { now, staleSince, limit }: DuePayments,
): Promise<DueCheck[]> {
  return await sql<DueCheck[]>`
    select id, user_id, created_at, expiry_time from gateway.payments
    where check_at <= ${now} and transaction_status = 'pending' and expiry_time <= ${staleSince}
    order by check_at limit ${limit}`;
}
