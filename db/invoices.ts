/** Invoices: the model, and the statements that read and write them. */

import { columnNames, fixed, mutable, mutableNames, type RowOf } from "./columns.ts";
import type { Sql } from "./database.ts";
import { batchedInsert, batchedUpdate } from "./record_writes.ts";
import { type DueCheck, type OwnerFilter, pageOf, type RecordFilter } from "./records.ts";

/**
 * - `pending`: the gateway has not confirmed the creation;
 * - `draft`, `sent`, `partial`, `overdue`: not paid in full yet;
 * - `paid`: final;
 * - `void`: final, unless the customer paid before it was voided;
 * - `failed`: the gateway rejected it.
 */
export const INVOICE_STATUSES = [
  "pending",
  "draft",
  "sent",
  "partial",
  "overdue",
  "paid",
  "void",
  "failed",
] as const;

export type InvoiceStatus = (typeof INVOICE_STATUSES)[number];

/** A new column needs a migration and a line here; see `PAYMENT_COLUMNS`. */
const INVOICE_COLUMNS = {
  id: fixed<string>(),
  user_id: fixed<string>(),
  invoice_number: fixed<string>(),
  order_id: fixed<string>(),
  /** Null until the gateway has responded. */
  gateway_invoice_id: mutable<string | null>(),
  status: mutable<InvoiceStatus>(),
  customer_name: fixed<string>(),
  customer_email: fixed<string | null>(),
  customer_phone: fixed<string | null>(),
  customer_id: fixed<string | null>(),
  total_amount: fixed<number>(),
  currency: fixed<string>(),
  /** YYYY-MM-DD in Western Indonesian time. */
  due_date: fixed<string>(),
  /** The last second of that day. */
  due_at: fixed<Date>(),
  paid_at: mutable<Date | null>(),
  notes: fixed<string | null>(),
  /** The reason given by the caller who voided the invoice, or the reason that the gateway reports. */
  void_reason: mutable<string | null>(),
  payment_link_url: mutable<string | null>(),
  pdf_url: mutable<string | null>(),
  metadata: fixed<Record<string, unknown> | null>(),
  /** Written just before the invoice is sent to the gateway for the first time. */
  sent_at: fixed<Date>(),
  /** When to check at the gateway if no report arrives earlier; null: never. */
  check_at: mutable<Date | null>(),
  /** The actor that created it (`core/auth/caller.ts`); null: no caller did. */
  created_by: fixed<string | null>(),
  event_count: mutable<number>(),
  /** Incremented by every update. */
  version: fixed<number>(),
  created_at: fixed<Date>(),
  updated_at: mutable<Date>(),
};

export interface GatewayInvoice extends RowOf<typeof INVOICE_COLUMNS> {
  items: GatewayInvoiceItem[];
}

const ITEM_COLUMNS = {
  id: fixed<string>(),
  invoice_id: fixed<string>(),
  position: fixed<number>(),
  item_id: fixed<string | null>(),
  description: fixed<string>(),
  price: fixed<number>(),
  quantity: fixed<number>(),
};

export interface GatewayInvoiceItem extends RowOf<typeof ITEM_COLUMNS> {}

export const invoiceInserts = batchedInsert<GatewayInvoice>({
  resource: "invoice",
  table: "invoices",
  columns: columnNames(INVOICE_COLUMNS),
  status: "status",
  source: "create",
  orderOf: ({ order_id }) => order_id,
  items: {
    table: "invoice_items",
    columns: columnNames(ITEM_COLUMNS),
    of: ({ items }) => items,
  },
});

export const invoiceWrites = batchedUpdate<GatewayInvoice>(
  "invoices",
  mutableNames(INVOICE_COLUMNS),
);

/** The unique index of invoice numbers. Failed invoices are not part of it. */
export const INVOICE_NUMBER_INDEX = "invoices_by_number";

/** An invoice with its items, selected from `invoice`. */
const WHOLE_INVOICE = `invoice.*,
      coalesce((select json_agg(item order by item.position)
        from gateway.invoice_items item where item.invoice_id = invoice.id), '[]') as items`;

export async function findInvoice(
  sql: Sql,
  id: string,
  owner: OwnerFilter = null,
): Promise<GatewayInvoice | null> {
  const [row] = await sql<[GatewayInvoice?]>`
    select ${sql.unsafe(WHOLE_INVOICE)} from gateway.invoices invoice
    where id = ${id} and (${owner}::text is null or user_id = ${owner})`;
  return row ?? null;
}

export async function findInvoiceByGatewayId(
  sql: Sql,
  gatewayInvoiceId: string,
): Promise<GatewayInvoice | null> {
  const [row] = await sql<[GatewayInvoice?]>`
    select ${sql.unsafe(WHOLE_INVOICE)} from gateway.invoices invoice
    where gateway_invoice_id = ${gatewayInvoiceId}`;
  return row ?? null;
}

/** Finds the invoice that holds this order id; a failed invoice no longer holds it. */
export async function findInvoiceOfOrder(
  sql: Sql,
  orderId: string,
): Promise<GatewayInvoice | null> {
  const [row] = await sql<[GatewayInvoice?]>`
    select ${sql.unsafe(WHOLE_INVOICE)}
    from gateway.order_ids taken join gateway.invoices invoice on invoice.id = taken.holder_id
    where taken.order_id = ${orderId} and invoice.status <> 'failed'`;
  return row ?? null;
}

export async function listInvoices(sql: Sql, options: RecordFilter): Promise<GatewayInvoice[]> {
  return await sql<GatewayInvoice[]>`
    select ${sql.unsafe(WHOLE_INVOICE)} from (${pageOf(sql, "invoices", options)}) invoice
    order by id desc`;
}

/** Invoices due for a check, the most overdue first. */
export async function listDueInvoices(sql: Sql, now: Date, limit: number): Promise<DueCheck[]> {
  return await sql<DueCheck[]>`
    select id, user_id, created_at, null as expiry_time from gateway.invoices
    where check_at <= ${now} order by check_at limit ${limit}`;
}
