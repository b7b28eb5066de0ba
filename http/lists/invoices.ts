/** The query parameters of the list of invoices, and the page that they select. */

import { z } from "@hono/zod-openapi";
import type { Caller } from "../../core/auth/caller.ts";
import { type InvoicePage, listInvoices } from "../../core/invoices/read.ts";
import { INVOICE_STATUSES } from "../../core/invoices/states.ts";
import type { Service } from "../../core/service.ts";
import {
  createdRange,
  dateParameter,
  emailParameter,
  severalOf,
  textParameter,
  userParameter,
} from "./filters.ts";
import { filteredPaging } from "./page.ts";

/** The export of invoices has the same filters. */
export const InvoiceListQuery = z.object({
  status: severalOf(
    INVOICE_STATUSES,
    "InvoiceStatus",
    "Only invoices with this `status`.",
    ["overdue"],
  ),
  customer_email: emailParameter("invoices"),
  invoice_number: textParameter("Only the invoice with this number.", "INV-20261115-7K3M9QXD"),
  order_id: textParameter("Only invoices with this order id.", "order-1893"),
  ...createdRange("invoices"),
  due_from: dateParameter(
    "Only invoices with this `due_date` or a later one. The list is then sorted by `due_date`, " +
      "latest first, unless it is filtered by customer, number or order.",
    "2026-12-01",
  ),
  due_to: dateParameter(
    "Only invoices with this `due_date` or an earlier one. The list is sorted as with `due_from`.",
    "2026-12-31",
  ),
  user_id: userParameter("invoices"),
  ...filteredPaging,
});

export async function readInvoicePage(
  service: Service,
  caller: Caller,
  { cursor, ...filter }: z.output<typeof InvoiceListQuery>,
): Promise<InvoicePage> {
  return await listInvoices(service, caller, { ...filter, after: cursor ?? null });
}
