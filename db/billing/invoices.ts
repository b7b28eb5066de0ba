/** Invoices: the model, and the statements that read and write them. */

import { MAX, NIL } from "uuid";
import { columnNames, fixed, mutable, mutableNames, type RowOf } from "../records/columns.ts";
import type { Sql } from "../connection/database.ts";
import {
  customerRange,
  idRange,
  type IndexRange,
  type ListBounds,
  mergedWalk,
  ownerPrefix,
  rangeWalk,
  readWalk,
  statesCte,
  timeBounds,
  type Walk,
  type WalkedPage,
} from "../records/list_walk.ts";
import { batchedInsert, batchedUpdate } from "../writing/record_writes.ts";
import type { DueCheck, OwnerFilter } from "../records/records.ts";

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
export const INVOICE_COLUMNS = {
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
  /**
   * The reason given by the caller who voided the invoice, or the reason that the gateway reports.
   */
  void_reason: mutable<string | null>(),
  payment_link_url: mutable<string | null>(),
  pdf_url: mutable<string | null>(),
  metadata: fixed<Record<string, unknown> | null>(),
  /** Written just before the invoice is sent to the gateway for the first time. */
  sent_at: fixed<Date>(),
  /** When to check at the gateway if no report arrives earlier; null: never. */
  check_at: mutable<Date | null>(),
  /** The actor that created it (`core/auth/caller.ts`). */
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

/** The columns of an invoice, and its items; the query must name the table `invoice`. */
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

/** Finds the invoice that reserves this order id; a failed invoice no longer reserves it. */
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

/** A missing member: any value. */
export interface InvoiceConditions {
  /** One of these. */
  status?: readonly string[];
  customer_email?: string;
  customer_phone?: string;
  invoice_number?: string;
  order_id?: string;
}

export interface InvoiceFilter extends InvoiceConditions, ListBounds {
  owner: OwnerFilter;
  /** Inclusive; a time, not a date. */
  dueFrom?: Date;
  /** Exclusive. */
  dueTo?: Date;
  limit: number;
}

/**
 * Newest first, or latest due date first if `isByDueDate`. `list_walk.ts` explains how a filtered
 * list is read.
 */
export async function listInvoices(
  sql: Sql,
  filter: InvoiceFilter,
): Promise<WalkedPage<GatewayInvoice>> {
  return await readWalk(sql, chooseWalk(sql, filter), {
    table: "invoices",
    columns: columnNames(INVOICE_COLUMNS),
    more: sql`, coalesce((select json_agg(item order by item.position)
        from gateway.invoice_items item where item.invoice_id = record.id), '[]') as items`,
    conditions: conditionsOf(sql, filter),
    limit: filter.limit,
  });
}

/** Filters that find few invoices and have their own index. The most selective come first. */
const LOOKUPS = ["invoice_number", "order_id", "customer_email", "customer_phone"] as const;

/** Whether the list is sorted by due date: it has a filter by due date, and none of `LOOKUPS`. */
export function isByDueDate(
  filter: InvoiceConditions & Pick<InvoiceFilter, "dueFrom" | "dueTo">,
): boolean {
  const isDue = filter.dueFrom !== undefined || filter.dueTo !== undefined;
  return isDue && LOOKUPS.every((name) => filter[name] === undefined);
}

function chooseWalk(sql: Sql, filter: InvoiceFilter): Walk {
  const { owner, status } = filter;
  const range = (prefix: IndexRange["prefix"]) => idRange("invoices", prefix, filter);
  const lookup = LOOKUPS.find((name) => filter[name] !== undefined);
  if (lookup === "customer_email" || lookup === "customer_phone") {
    return rangeWalk(sql, customerRange(sql, "invoices", filter, lookup), true);
  }
  if (lookup) return rangeWalk(sql, range([[lookup, sql`${filter[lookup]!}::text`]]), true);
  if (isByDueDate(filter)) {
    const isFiltered = [status, filter.firstId, filter.endId].some((each) => each !== undefined);
    const byDueTime = {
      ...range(ownerPrefix(sql, owner)),
      timeColumn: "due_at",
      ...timeBounds(filter.after, filter.dueFrom, filter.dueTo),
    };
    return rangeWalk(sql, byDueTime, isFiltered);
  }
  if (!status) return rangeWalk(sql, range(ownerPrefix(sql, owner)), false);
  const byStatus = range([...ownerPrefix(sql, owner), ["status", sql`state.status`]]);
  return mergedWalk(sql, statesCte(sql, status), byStatus, false);
}

function conditionsOf(sql: Sql, filter: InvoiceFilter) {
  const { owner } = filter;
  const value = (name: (typeof LOOKUPS)[number] | "dueFrom" | "dueTo") => filter[name] ?? null;
  const status = filter.status ? sql.array([...filter.status]) : null;
  return sql`
      (${owner}::text is null or record.user_id = ${owner})
      and record.id >= ${filter.firstId ?? NIL}::uuid and record.id < ${filter.endId ?? MAX}::uuid
      and (${status}::text[] is null or record.status = any(${status}))
      and (${value("invoice_number")}::text is null
        or record.invoice_number = ${value("invoice_number")})
      and (${value("order_id")}::text is null or record.order_id = ${value("order_id")})
      and (${value("customer_email")}::text is null
        or gateway.email_key(record.customer_email) = gateway.email_key(${value("customer_email")}))
      and (${value("customer_phone")}::text is null
        or gateway.phone_key(record.customer_phone) = gateway.phone_key(${value("customer_phone")}))
      and (${value("dueFrom")}::timestamptz is null or record.due_at >= ${value("dueFrom")})
      and (${value("dueTo")}::timestamptz is null or record.due_at < ${value("dueTo")})`;
}

/** Invoices whose check at the gateway is due; the check that has waited longest comes first. */
export async function listDueInvoices(sql: Sql, now: Date, limit: number): Promise<DueCheck[]> {
  return await sql<DueCheck[]>`
    select id, user_id, created_at, null as expiry_time from gateway.invoices
    where check_at <= ${now} order by check_at limit ${limit}`;
}
