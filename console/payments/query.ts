/** The view of the page of payments: filters, columns and cursor, as they are in its URL. */

import type { z } from "@hono/zod-openapi";
import type { Caller } from "../../core/auth/caller.ts";
import type { FieldError } from "../../core/errors.ts";
import type { WalkCursor } from "../../core/lists/page.ts";
import {
  listOwnerlessPayments,
  listUnansweredPayments,
  type PaymentPage,
} from "../../core/payments/read.ts";
import type { SearchReport } from "../../core/payments/search.ts";
import type { PaymentView } from "../../core/payments/views.ts";
import { findPayments, PaymentListQuery } from "../../http/lists/payments.ts";
import { issuesOf } from "../shared/explain.ts";
import { parseAmount } from "../shared/form_values.ts";
import { endOfDay, startOfDay } from "../shared/days.ts";
import type { Service } from "../../core/service.ts";

/** The columns of the table, in their order. */
export const COLUMNS = [
  "amount",
  "refunded",
  "net",
  "fee",
  "payout",
  "status",
  "fraud",
  "order",
  "customer",
  "name",
  "phone",
  "method",
  "code",
  "card",
  "approval",
  "created",
  "settled",
  "transaction",
  "user",
  "id",
] as const;

export type Column = (typeof COLUMNS)[number];

/** Columns that the summaries of the list do not have. */
const WHOLE_COLUMNS: readonly Column[] = [
  "fee",
  "payout",
  "name",
  "phone",
  "code",
  "card",
  "approval",
  "transaction",
];

export function needsWholePayments({ columns }: PaymentQuery): boolean {
  return columns.some((column) => WHOLE_COLUMNS.includes(column));
}

/** What the customer pays to or with: a virtual account number, a bill or a payment code. */
export function paymentCode(payment: Partial<PaymentView>): string | null {
  const { va_number, biller_code, bill_key, payment_code } = payment;
  return va_number ?? (bill_key ? `${biller_code} ${bill_key}` : payment_code ?? null);
}

export const DEFAULT_COLUMNS: readonly Column[] = [
  "amount",
  "status",
  "order",
  "customer",
  "method",
  "created",
];

/** Filters with one value. Days are days in Jakarta, such as `2026-11-16`. */
export const FIELDS = [
  "q",
  "from",
  "to",
  "settled_from",
  "settled_to",
  "min_amount",
  "max_amount",
  "order_id",
  "transaction_id",
  "va_number",
  "customer_email",
  "customer_phone",
  "fraud_status",
  "user_id",
  "invoice_id",
  "subscription_id",
  // Only `unknown`: payments that the gateway has not answered.
  "outcome",
  // Only `none`: paid payments that belong to no user.
  "owner",
] as const;

export type FilterName = (typeof FIELDS)[number];

/** Filters with several values. */
export const LISTS = ["status", "payment_type"] as const;

export type ListFilterName = (typeof LISTS)[number];

export interface PaymentQuery extends Record<FilterName, string>, Record<ListFilterName, string[]> {
  columns: readonly Column[];
  cursor: string;
}

/** Reads the view from the URL; other parameters, and the filters of a search, are ignored. */
export function readPaymentQuery(url: string): PaymentQuery {
  const search = new URL(url).searchParams;
  // The API does not combine a search with filters, so the page must not show them as in use.
  if (search.get("q")?.trim()) {
    [...FIELDS, ...LISTS].filter((name) => name !== "q").forEach((name) => search.delete(name));
  }
  const get = (name: string) => search.get(name)?.trim() ?? "";
  const getAll = (name: string) => search.getAll(name).filter((value) => value !== "");
  const columns = COLUMNS.filter((column) => search.getAll("column").includes(column));
  return {
    ...Object.fromEntries(FIELDS.map((name) => [name, get(name)])) as Record<FilterName, string>,
    status: getAll("status"),
    payment_type: getAll("payment_type"),
    columns: columns.length > 0 ? columns : DEFAULT_COLUMNS,
    cursor: get("cursor"),
  };
}

/** The parameters of a URL that shows this view. */
export function paymentSearch(query: PaymentQuery): URLSearchParams {
  const { columns, cursor } = query;
  const isDefault = columns.join() === DEFAULT_COLUMNS.join();
  return new URLSearchParams([
    ...FIELDS.map((name) => [name, query[name]] as [string, string]),
    ...LISTS.flatMap((name) => query[name].map((value) => [name, value] as [string, string])),
    ...isDefault ? [] : columns.map((column) => ["column", column] as [string, string]),
    ["cursor", cursor] as [string, string],
  ].filter(([, value]) => value !== ""));
}

/** Reads pages of a view. */
export type ReadView = (
  limit: number,
  after: WalkCursor | null,
) => Promise<PaymentPage & { search?: SearchReport | null }>;

/** How the payments of a view are read; or what is wrong with its filters. */
export function parseView(
  service: Service,
  caller: Caller,
  query: PaymentQuery,
): { readView: ReadView; start: WalkCursor | null } | { errors: FieldError[] } {
  const parsed = PaymentListQuery.safeParse(toApiQuery(query));
  if (!parsed.success) return { errors: issuesOf(parsed.error) };
  const { cursor = null, ...filters } = parsed.data;
  return { readView: viewReader(service, caller, query, filters), start: cursor };
}

function viewReader(
  service: Service,
  caller: Caller,
  { outcome, owner }: PaymentQuery,
  filters: Omit<z.output<typeof PaymentListQuery>, "cursor">,
): ReadView {
  if (outcome === "unknown") {
    return (limit, after) => listUnansweredPayments(service, caller, { limit, after });
  }
  if (owner === "none") {
    return (limit, after) => listOwnerlessPayments(service, caller, { limit, after });
  }
  return (limit, after) =>
    findPayments(service, caller, { ...filters, limit, cursor: after ?? undefined });
}

/** The view as a query of `GET /payments/`. */
function toApiQuery(query: PaymentQuery): Record<string, string | string[]> {
  const { from, to, settled_from, settled_to, columns: _, ...rest } = query;
  const { outcome, owner, ...filters } = rest;
  if (outcome === "unknown" || owner === "none") {
    return query.cursor === "" ? {} : { cursor: query.cursor };
  }
  const all = {
    ...filters,
    min_amount: String(parseAmount(filters.min_amount) ?? ""),
    max_amount: String(parseAmount(filters.max_amount) ?? ""),
    created_from: from && startOfDay(from),
    created_to: to && endOfDay(to),
    settled_from: settled_from && startOfDay(settled_from),
    settled_to: settled_to && endOfDay(settled_to),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value.length > 0));
}
