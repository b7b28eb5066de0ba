/** Invoices: the model, and the statements that read and write them. */

import type { Sql } from "./database.ts";
import { inserting, writing } from "./record_writes.ts";
import { type DueCheck, pageOf, type RecordFilter } from "./records.ts";

export interface GatewayInvoice {
  id: string;
  user_id: string;
  invoice_number: string;
  order_id: string;
  /** Null until the gateway has answered. */
  gateway_invoice_id: string | null;
  status: InvoiceStatus;
  customer_name: string;
  customer_email: string | null;
  customer_phone: string | null;
  customer_id: string | null;
  total_amount: number;
  currency: string;
  /** A day of Western Indonesia, YYYY-MM-DD. */
  due_date: string;
  /** The last second of it. */
  due_at: Date;
  paid_at: Date | null;
  notes: string | null;
  /** Why it was to be voided, whether or not it was. */
  void_reason: string | null;
  payment_link_url: string | null;
  pdf_url: string | null;
  metadata: Record<string, unknown> | null;
  /** When it was first sent to the gateway, or about to be. */
  sent_at: Date;
  /** When to ask the gateway, should nobody have heard from it until then. */
  check_at: Date | null;
  event_count: number;
  version: number;
  created_at: Date;
  updated_at: Date;
  items: GatewayInvoiceItem[];
}

export interface GatewayInvoiceItem {
  id: string;
  invoice_id: string;
  position: number;
  item_id: string | null;
  description: string;
  price: number;
  quantity: number;
}

/**
 * - `pending`: the gateway has not answered to its creation;
 * - `draft`, `sent`, `partial`, `overdue`: it waits for its customer;
 * - `paid`, `void`: it is over;
 * - `failed`: the gateway refused it.
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

type Column = Exclude<keyof GatewayInvoice, "items">;

const CHANGING_COLUMNS = [
  "gateway_invoice_id",
  "status",
  "paid_at",
  "void_reason",
  "payment_link_url",
  "pdf_url",
  "check_at",
  "event_count",
  "updated_at",
] as const satisfies readonly Column[];

const COLUMNS = [
  "id",
  "user_id",
  "invoice_number",
  "order_id",
  "customer_name",
  "customer_email",
  "customer_phone",
  "customer_id",
  "total_amount",
  "currency",
  "due_date",
  "due_at",
  "notes",
  "metadata",
  "sent_at",
  "created_at",
  ...CHANGING_COLUMNS,
  "version",
] as const satisfies readonly Column[];

// Does not compile when one is missing.
const _isComplete: Column extends (typeof COLUMNS)[number] ? true : never = true;

const ITEM_COLUMNS = [
  "id",
  "invoice_id",
  "position",
  "item_id",
  "description",
  "price",
  "quantity",
] as const satisfies readonly (keyof GatewayInvoiceItem)[];

/** The statements by which invoices are made, and changed. */
export const invoiceInserts = inserting<GatewayInvoice>({
  resource: "invoice",
  table: "invoices",
  columns: COLUMNS,
  status: "status",
  source: "create",
  orderOf: ({ order_id }) => order_id,
  items: { table: "invoice_items", columns: ITEM_COLUMNS, of: ({ items }) => items },
});

export const invoiceWrites = writing<GatewayInvoice>("invoices", CHANGING_COLUMNS);

/** No two invoices that count have the same. */
export const INVOICE_NUMBER = "invoices_by_number";

/** An invoice with its items, selected from `invoice`. */
const WHOLE_INVOICE = `invoice.*,
      coalesce((select json_agg(item order by item.position)
        from gateway.invoice_items item where item.invoice_id = invoice.id), '[]') as items`;

export async function findInvoice(
  sql: Sql,
  id: string,
  owner: string | null = null,
): Promise<GatewayInvoice | null> {
  const [row] = await sql<[GatewayInvoice?]>`
    select ${sql.unsafe(WHOLE_INVOICE)} from gateway.invoices invoice
    where id = ${id} and (${owner}::text is null or user_id = ${owner})`;
  return row ?? null;
}

/** The one that the gateway knows by this id. */
export async function findInvoiceAtGateway(
  sql: Sql,
  gatewayInvoiceId: string,
): Promise<GatewayInvoice | null> {
  const [row] = await sql<[GatewayInvoice?]>`
    select ${sql.unsafe(WHOLE_INVOICE)} from gateway.invoices invoice
    where gateway_invoice_id = ${gatewayInvoiceId}`;
  return row ?? null;
}

/** The one that has this order; one that the gateway refused has it no longer. */
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

/** Those whose time for a look has come, the most overdue first. */
export async function listDueInvoices(sql: Sql, now: Date, limit: number): Promise<DueCheck[]> {
  return await sql<DueCheck[]>`
    select id, user_id, created_at, null as expiry_time from gateway.invoices
    where check_at <= ${now} order by check_at limit ${limit}`;
}
