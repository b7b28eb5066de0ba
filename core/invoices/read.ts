/** `readInvoice` and `listInvoices`: stored invoices, without a request to the gateway. */

import { listInvoices as list } from "../../db/invoices.ts";
import type { Caller } from "../auth/caller.ts";
import { readPage } from "../page.ts";
import { findOwn, ownerFor } from "../records/read.ts";
import type { RecordDeps } from "../records/record.ts";
import { invoiceKind } from "./invoice_record.ts";
import { type InvoiceView, viewInvoice } from "./views.ts";

export async function readInvoice(
  deps: RecordDeps,
  caller: Caller,
  id: string,
): Promise<InvoiceView> {
  return viewInvoice(await findOwn(deps, invoiceKind, caller, id));
}

export interface InvoiceFilter {
  status: string | null;
  limit: number;
  /** The last invoice of the previous page. */
  before: string | null;
}

export interface InvoicePage {
  invoices: InvoiceView[];
  /** The last id of this page, to be passed as `before`; null on the last page. */
  next: string | null;
}

export async function listInvoices(
  { database }: RecordDeps,
  caller: Caller,
  { limit, ...filter }: InvoiceFilter,
): Promise<InvoicePage> {
  const owner = ownerFor(caller);
  const { rows, next } = await readPage(
    limit,
    (limit) => database.query((sql) => list(sql, { owner, ...filter, limit }), "list invoices"),
  );
  return { invoices: rows.map(viewInvoice), next };
}
