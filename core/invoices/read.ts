/** `readInvoice` and `listInvoices`: what is stored here; the gateway is not asked. */

import { listInvoices as list } from "../../db/invoices.ts";
import type { Caller } from "../auth/caller.ts";
import { readPage } from "../page.ts";
import type { RecordDeps } from "../records/deps.ts";
import { findOwn, ownerFor } from "../records/read.ts";
import { invoiceKind } from "./kind.ts";
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
  /** The last invoice of the page before. */
  before: string | null;
}

export interface InvoicePage {
  invoices: InvoiceView[];
  /** Where the next page begins, to be given as `before`; null on the last one. */
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
