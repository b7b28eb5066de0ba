/** The gateway's request of an invoice. */

import type { GatewayInvoice } from "../../db/invoices.ts";
import { formatWib } from "../gateway/times.ts";

export function invoicePayload(invoice: GatewayInvoice, payments: readonly string[]): object {
  const { customer_id, customer_email, customer_phone, notes } = invoice;
  return {
    order_id: invoice.order_id,
    invoice_number: invoice.invoice_number,
    // Whenever it is sent: sent again it has to be the same.
    invoice_date: formatWib(invoice.created_at),
    due_date: formatWib(invoice.due_at),
    customer_details: {
      name: invoice.customer_name,
      ...customer_id !== null && { id: customer_id },
      ...customer_email !== null && { email: customer_email },
      ...customer_phone !== null && { phone: customer_phone },
    },
    item_details: invoice.items.map(({ item_id, description, price, quantity }) => ({
      ...item_id !== null && { item_id },
      description,
      price,
      quantity,
    })),
    ...notes !== null && { notes },
    payment_type: "payment_link",
    payment_link: { is_custom_expiry: false, enabled_payments: payments },
    metadata: { invoice_ref: invoice.id },
  };
}
