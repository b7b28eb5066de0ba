/**
 * The exports of payments, refunds, invoices and differences of a reconciliation. An export reads
 * the pages of an API list, so it has the filters of that list.
 */

import { listOwners, listPaymentsByIds } from "../../db/reports/exports.ts";
import { type Caller, canReadAll } from "../auth/caller.ts";
import type { InvoiceView } from "../invoices/views.ts";
import type { CardView } from "../payments/card.ts";
import { type PaymentView, type RefundDetailsView, viewWithFee } from "../payments/views.ts";
import type { Service } from "../service.ts";
import { EXPORT_PAGE, type ExportSource } from "./export_stream.ts";
import type { Cell } from "./file_format.ts";
import { type DifferenceFilter, type DifferenceView, listDifferences } from "./reconciliations.ts";

/** Reads a page of a list. `after` is where the page begins; null: at the newest item. */
export type ReadList<Item, Cursor> = (after: Cursor | null) => Promise<ListPage<Item, Cursor>>;

export interface ListPage<Item, Cursor> {
  items: Item[];
  next: Cursor | null;
}

const PAYMENT_COLUMNS = [
  "id",
  "order_id",
  "transaction_id",
  "payment_type",
  "bank",
  "store",
  "acquirer",
  "currency",
  "gross_amount",
  "captured_amount",
  "refund_amount",
  "chargeback_amount",
  "net_amount",
  "transaction_status",
  "fraud_status",
  "is_paid",
  "status_code",
  "status_message",
  "customer_first_name",
  "customer_last_name",
  "customer_email",
  "customer_phone",
  "va_number",
  "bill_key",
  "biller_code",
  "payment_code",
  "transaction_time",
  "settlement_time",
  "expiry_time",
  "custom_field1",
  "custom_field2",
  "custom_field3",
  "metadata",
  "invoice_id",
  "subscription_id",
  "created_at",
  "updated_at",
  "fee_amount",
  "payout_amount",
] as const satisfies (keyof PaymentView)[];

/** Columns of the card, by the member that they show. */
const CARD_COLUMNS = {
  card_number: "masked_number",
  card_brand: "brand",
  card_approval_code: "approval_code",
  card_three_d_secure: "three_d_secure",
} as const satisfies Record<string, keyof CardView>;

/** Not part of the API's view. */
const PAID_AT = "paid_at";

/** A payment with what is only in exports. */
export interface ExportedPayment extends PaymentView {
  user_id: string | null;
  /** Statistics count the amount of a payment at this time. */
  paid_at: Date | null;
}

/** The list returns summaries, so each page is read again by its ids. */
export function readWholePayments<Cursor>(
  { database }: Pick<Service, "database">,
  caller: Caller,
  readList: ReadList<{ id: string }, Cursor>,
): ReadList<ExportedPayment, Cursor> {
  return async (after) => {
    const { items, next } = await readList(after);
    const ids = items.map(({ id }) => id);
    const payments = await database.query((sql) => listPaymentsByIds(sql, ids), "read export");
    const whole = payments.map((payment) => {
      const { user_id, paid_at } = payment;
      return { ...viewWithFee(caller, payment), user_id, paid_at };
    });
    return { items: whole, next };
  };
}

export function exportPayments<Cursor>(
  { database }: Pick<Service, "database">,
  caller: Caller,
  readList: ReadList<{ id: string }, Cursor>,
): ExportSource<Cursor> {
  const readWhole = readWholePayments({ database }, caller, readList);
  return {
    columns: withOwner<string>(
      caller,
      [...PAYMENT_COLUMNS, PAID_AT, ...Object.keys(CARD_COLUMNS)],
      "user_id",
    ),
    async readPage(after) {
      const { items, next } = await readWhole(after);
      const rows = items.map((payment) => {
        const card = Object.values(CARD_COLUMNS).map((name) => payment.card?.[name] ?? null);
        const cells = [...cellsOf(payment, PAYMENT_COLUMNS), payment[PAID_AT], ...card];
        return withOwner(caller, cells, payment.user_id);
      });
      return { rows, next };
    },
  };
}

/** A column of a file for people. */
export interface FileColumn<Item> {
  name: string;
  valueOf(item: Item): Cell;
}

/** Exports the items of a list with these columns. */
export function exportColumns<Item, Cursor>(
  readList: ReadList<Item, Cursor>,
  columns: readonly FileColumn<Item>[],
): ExportSource<Cursor> {
  return {
    columns: columns.map(({ name }) => name),
    async readPage(after) {
      const { items, next } = await readList(after);
      return { rows: items.map((item) => columns.map(({ valueOf }) => valueOf(item))), next };
    },
  };
}

const REFUND_COLUMNS = [
  "id",
  "payment_id",
  "order_id",
  "refund_key",
  "amount",
  "reason",
  "is_direct",
  "status",
  "status_code",
  "status_message",
  "created_at",
  "updated_at",
] as const satisfies (keyof RefundDetailsView)[];

export function exportRefunds<Cursor>(
  { database }: Pick<Service, "database">,
  caller: Caller,
  readList: ReadList<RefundDetailsView, Cursor>,
): ExportSource<Cursor> {
  return exportViews({ database }, caller, readList, { table: "refunds", columns: REFUND_COLUMNS });
}

const INVOICE_COLUMNS = [
  "id",
  "invoice_number",
  "order_id",
  "gateway_invoice_id",
  "status",
  "currency",
  "total_amount",
  "customer_name",
  "customer_email",
  "customer_phone",
  "customer_id",
  "due_date",
  "paid_at",
  "is_overdue",
  "notes",
  "void_reason",
  "payment_link_url",
  "pdf_url",
  "metadata",
  "created_at",
  "updated_at",
] as const satisfies (keyof InvoiceView)[];

export function exportInvoices<Cursor>(
  { database }: Pick<Service, "database">,
  caller: Caller,
  readList: ReadList<InvoiceView, Cursor>,
): ExportSource<Cursor> {
  return exportViews({ database }, caller, readList, {
    table: "invoices",
    columns: INVOICE_COLUMNS,
  });
}

const DIFFERENCE_COLUMNS = [
  "line",
  "result",
  "kind",
  "order_id",
  "transaction_id",
  "amount",
  "status",
  "date",
  "payment_id",
  "refund_id",
  "known_amount",
  "known_status",
  "resolved_at",
  "resolved_by",
] as const satisfies (keyof DifferenceView)[];

export function readDifferences(
  service: Service,
  caller: Caller,
  id: string,
  filter: Pick<DifferenceFilter, "result" | "isResolved">,
): ReadList<DifferenceView, number> {
  return async (after) => {
    const page = { ...filter, after, limit: EXPORT_PAGE };
    const { differences, next } = await listDifferences(service, caller, id, page);
    return { items: differences, next: next === null ? null : Number(next) };
  };
}

export function exportDifferences(
  readList: ReadList<DifferenceView, number>,
): ExportSource<number> {
  return exportColumns(
    readList,
    DIFFERENCE_COLUMNS.map((name) => ({ name, valueOf: (each) => cellOf(each, name) })),
  );
}

/** Exports the items of a list, with their owners, which the list does not return. */
function exportViews<View extends { id: string }, Cursor>(
  { database }: Pick<Service, "database">,
  caller: Caller,
  readList: ReadList<View, Cursor>,
  { table, columns }: { table: "refunds" | "invoices"; columns: readonly (keyof View & string)[] },
): ExportSource<Cursor> {
  return {
    columns: withOwner<string>(caller, columns, "user_id"),
    async readPage(after) {
      const { items, next } = await readList(after);
      const ids = items.map(({ id }) => id);
      const owners = canReadAll(caller)
        ? await database.query((sql) => listOwners(sql, table, ids), "read export")
        : [];
      const rows = items.map((item, index) =>
        withOwner(caller, cellsOf(item, columns), owners[index] ?? null)
      );
      return { rows, next };
    },
  };
}

/** Staff and viewers also see whose record it is, in the last column. */
function withOwner<T>(caller: Caller, cells: readonly T[], owner: T): T[] {
  return canReadAll(caller) ? [...cells, owner] : [...cells];
}

function cellsOf<View>(view: View, columns: readonly (keyof View)[]): Cell[] {
  return columns.map((name) => cellOf(view, name));
}

/** Amounts have no decimals, because some spreadsheets read the point as a thousands separator. */
function cellOf<View>(view: View, name: keyof View): Cell {
  const value = view[name];
  if (typeof value === "string" && String(name).endsWith("amount")) {
    return value.replace(/\.00$/, "");
  }
  if (value === null || typeof value !== "object") return value as Cell;
  return JSON.stringify(value);
}
