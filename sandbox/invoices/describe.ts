/** An invoice in the gateway's own words. */

import { wibWithOffset } from "../world/time.ts";
import type { Identity } from "../world/world.ts";
import type { Invoice } from "./invoice.ts";
import { taxes } from "./totals.ts";

export function describeInvoice(world: Identity, invoice: Invoice) {
  const { id, request, status, amount, documentType } = invoice;
  const url = world.publicUrl();
  return {
    ...request,
    id,
    status,
    document_type: documentType,
    gross_amount: amount,
    published_date: wibWithOffset(invoice.createdAt),
    pdf_url: `${url}/invoices/${id}.pdf`,
    ...invoice.paidAt !== null && { paid_pdf_url: `${url}/invoices/${id}.pdf?paid` },
    ...request.payment_type === "payment_link" && {
      payment_link_url: `${url}/payment-links/${id}`,
    },
    virtual_accounts: invoice.virtualAccounts,
    ...request.taxes !== undefined && { taxes: taxes(request) },
    ...invoice.voidReason !== null && { void_reason: invoice.voidReason },
    ...invoice.convertedAt !== null && {
      converted_at: wibWithOffset(invoice.convertedAt),
      created_as: "quotation",
    },
  };
}
