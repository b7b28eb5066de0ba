/** Amounts of an invoice: items minus discounts, plus tax and shipping. */

import type { Invoice, InvoiceItem, InvoiceTax, Priced } from "../world/records.ts";

export function total(invoice: Priced): number {
  const { amount, tax_mode } = invoice;
  const tax = tax_mode === "exclusive"
    ? taxes(invoice).reduce((sum, { calculated_amount }) => sum + calculated_amount, 0)
    : 0;
  return itemsTotal(invoice) + tax + (amount?.vat ?? 0) + (amount?.shipping ?? 0) -
    (amount?.discount ?? 0);
}

export function taxes(invoice: Priced): (InvoiceTax & { calculated_amount: number })[] {
  const base = itemsTotal(invoice);
  return (invoice.taxes ?? []).map((tax) => ({
    ...tax,
    calculated_amount: tax.type === "fixed" ? Math.round(tax.value) : percent(base, tax.value),
  }));
}

/** Amount of one item, minus its discount. */
function itemTotal(
  { price, quantity, discount_percentage }: Pick<
    InvoiceItem,
    "price" | "quantity" | "discount_percentage"
  >,
) {
  const full = price * quantity;
  return full - percent(full, discount_percentage ?? 0);
}

function itemsTotal({ item_details }: Priced): number {
  return item_details.reduce((sum, item) => sum + itemTotal(item), 0);
}

function percent(amount: number, rate: number): number {
  return Math.round(amount * rate / 100);
}

export interface InvoiceLine {
  description: string;
  quantity: number;
  /** Price of one piece, before the discount. */
  price: number;
  /** Percent. */
  discount: number;
  sum: number;
}

/** An invoice as the payment page and the PDF show it. */
export function summarizeInvoice(invoice: Invoice) {
  const { request } = invoice;
  const { amount } = request;
  const isAdded = request.tax_mode === "exclusive";
  /** Everything except the items. */
  const adjustments = [
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
    items: request.item_details.map((item): InvoiceLine => ({
      ...item,
      discount: item.discount_percentage ?? 0,
      sum: itemTotal(item),
    })),
    adjustments: adjustments.filter((each) => each.amount !== 0),
    notes: request.notes ?? null,
    finishUrl: request.payment_link?.callbacks?.finish ?? null,
  };
}
