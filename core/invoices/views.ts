/**
 * Invoices as responses and events show them. Every member is always present; null if it has no
 * value.
 */

import type { GatewayInvoice, GatewayInvoiceItem } from "../../db/billing/invoices.ts";
import { formatMoney } from "../money.ts";

export type InvoiceView = ReturnType<typeof viewInvoice>;

export function viewInvoice(invoice: GatewayInvoice) {
  const { status } = invoice;
  return {
    id: invoice.id,
    invoice_number: invoice.invoice_number,
    order_id: invoice.order_id,
    gateway_invoice_id: invoice.gateway_invoice_id,
    status,
    customer_name: invoice.customer_name,
    customer_email: invoice.customer_email,
    customer_phone: invoice.customer_phone,
    customer_id: invoice.customer_id,
    total_amount: formatMoney(invoice.total_amount),
    currency: invoice.currency,
    due_date: invoice.due_date,
    paid_at: invoice.paid_at?.toISOString() ?? null,
    notes: invoice.notes,
    // A voided invoice can still become paid: the reason no longer applies then.
    void_reason: status === "void" ? invoice.void_reason : null,
    payment_link_url: invoice.payment_link_url,
    pdf_url: invoice.pdf_url,
    items: invoice.items.map(viewItem),
    is_overdue: status === "overdue",
    metadata: invoice.metadata,
    created_at: invoice.created_at.toISOString(),
    updated_at: invoice.updated_at.toISOString(),
  };
}

/**
 * The values of an invoice that a form of the console shows. Its action is refused if they have
 * changed.
 */
export function shownOf({ status, total_amount }: InvoiceView): string {
  return `${status} ${total_amount}`;
}

function viewItem(item: GatewayInvoiceItem) {
  return {
    id: item.id,
    item_id: item.item_id,
    description: item.description,
    quantity: item.quantity,
    price: formatMoney(item.price),
    subtotal: formatMoney(item.price * item.quantity),
  };
}
