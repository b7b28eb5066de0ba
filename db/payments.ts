/** Payments: the model, and the statements that read it. */

import { MAX, NIL } from "uuid";
import type { Sql } from "./database.ts";
import { inserting } from "./insert_record.ts";
import { type GatewayRefund, readRefund } from "./refunds.ts";
import { writing } from "./write_record.ts";

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

/** What never changes of a payment once it is there. */
const FIXED_COLUMNS = [
  "id",
  "order_id",
  "payment_type",
  "gross_amount",
  "currency",
  "customer_first_name",
  "customer_last_name",
  "customer_email",
  "customer_phone",
  "metadata",
  "custom_field1",
  "custom_field2",
  "custom_field3",
  "is_hold",
  "created_at",
] as const;

/** What can change, along with its version. */
const CHANGING_COLUMNS = [
  // Of one that was made outside of the service, once it is known whose it is.
  "user_id",
  "invoice_id",
  "subscription_id",
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
] as const;

type Column = Exclude<keyof GatewayPayment, "items" | "refunds">;

/**
 * All of them, and none else: one that a later release adds keeps its default while this one still
 * runs beside it.
 */
export const PAYMENT_COLUMNS = [
  ...FIXED_COLUMNS,
  ...CHANGING_COLUMNS,
  "version",
] as const satisfies readonly Column[];

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
] as const satisfies readonly (keyof GatewayPaymentItem)[];

// Does not compile when one is missing.
const _isComplete: Column extends (typeof PAYMENT_COLUMNS)[number] ? true : never = true;

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

export interface ListOptions {
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
  { parents, ...options }: ListOptions,
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
  { owner, parents, paymentType, status, before, limit }: ListOptions,
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
  { owner, paymentType, status, before, limit }: Omit<ListOptions, "parents">,
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
