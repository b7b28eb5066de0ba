/** `readInvoice` and `listInvoices`: stored invoices, without a request to the gateway. */

import {
  type InvoiceConditions,
  isByDueDate,
  listInvoices as list,
} from "../../db/billing/invoices.ts";
import type { Caller } from "../auth/caller.ts";
import { checkCursor, checkRange, idRange, refuseFilters } from "../lists/filters.ts";
import { readFilteredPage, type WalkCursor } from "../lists/page.ts";
import { findOwn, ownerOfList, ownerShownTo } from "../records/read.ts";
import type { Service } from "../service.ts";
import { invoiceKind } from "./invoice_record.ts";
import { type InvoiceView, viewInvoice } from "./views.ts";

export async function readInvoice(
  service: Service,
  caller: Caller,
  id: string,
): Promise<ReadInvoice> {
  const invoice = await findOwn(service, invoiceKind, caller, id);
  return { ...viewInvoice(invoice), ...ownerShownTo(caller, invoice) };
}

/** With `user_id` for staff and viewers. */
export type ReadInvoice = InvoiceView & { user_id?: string | null };

/** A missing member matches any value. */
export interface InvoiceFilter extends InvoiceConditions {
  /** The owner of the invoices. Only staff and viewers can name another user. */
  user_id?: string;
  /** Inclusive. */
  created_from?: Date;
  /** Exclusive. */
  created_to?: Date;
  /** A date, YYYY-MM-DD; inclusive. */
  due_from?: string;
  /** A date, YYYY-MM-DD; inclusive. */
  due_to?: string;
}

export interface InvoicePage {
  /** Fewer than the limit, or none, if few invoices match; there can still be a next page. */
  invoices: ReadInvoice[];
  /** To be passed as `after`; null on the last page. */
  next: WalkCursor | null;
}

const DAY_MS = 86_400_000;

export async function listInvoices(
  { database }: Service,
  caller: Caller,
  input: InvoiceFilter & { after: WalkCursor | null; limit: number },
): Promise<InvoicePage> {
  const { user_id, created_from, created_to, due_from, due_to, limit, ...conditions } = input;
  const owner = ownerOfList(caller, user_id);
  refuseFilters([
    ...checkRange(["created_from", created_from], ["created_to", created_to]),
    ...checkRange(["due_from", due_from], ["due_to", due_to], { isToInclusive: true }),
  ]);
  const filter = {
    ...conditions,
    ...idRange(created_from, created_to),
    ...due_from && { dueFrom: startOfDayInWib(due_from) },
    ...due_to && { dueTo: new Date(startOfDayInWib(due_to).getTime() + DAY_MS) },
    owner,
  };
  const isByTime = isByDueDate(filter);
  checkCursor(input.after, isByTime);
  const { rows, next } = await readFilteredPage(
    limit,
    (limit) => database.query((sql) => list(sql, { ...filter, limit }), "list invoices"),
    isByTime ? ({ due_at }) => due_at : undefined,
  );
  const invoices = rows.map((row) => ({ ...viewInvoice(row), ...ownerShownTo(caller, row) }));
  return { invoices, next };
}

/** The time at which the date begins in Western Indonesia. */
function startOfDayInWib(day: string): Date {
  return new Date(`${day}T00:00:00+07:00`);
}
