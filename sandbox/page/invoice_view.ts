/** An invoice as a reader sees it; what is kept of it is the merchant's request. */

import type { Invoice } from "../invoices/invoice.ts";
import { itemTotal, taxes } from "../invoices/totals.ts";

export interface InvoiceItem {
  description: string;
  quantity: number;
  /** In percent. */
  discount: number;
  sum: number;
}

export function readInvoice(invoice: Invoice) {
  const { request } = invoice;
  const { amount } = request;
  const isAdded = request.tax_mode === "exclusive";
  const others = [
    ...taxes(request).map((tax) => ({
      name: isAdded ? tax.name : `${tax.name} (included)`,
      amount: tax.calculated_amount,
    })),
    { name: "VAT", amount: amount?.vat ?? 0 },
    { name: "Shipping", amount: amount?.shipping ?? 0 },
    { name: "Discount", amount: -(amount?.discount ?? 0) },
  ];
  return {
    number: request.invoice_number,
    customer: request.customer_details.name,
    email: request.customer_details.email ?? null,
    items: request.item_details.map((item): InvoiceItem => ({
      ...item,
      discount: item.discount_percentage ?? 0,
      sum: itemTotal(item),
    })),
    others: others.filter((each) => each.amount !== 0),
    finishUrl: request.payment_link?.callbacks?.finish ?? null,
  };
}
