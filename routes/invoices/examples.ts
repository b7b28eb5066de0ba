/** Examples for the OpenAPI document: invoices, and the requests that create them. */

import type { z } from "@hono/zod-openapi";
import type { InvoiceInputSchema } from "../../core/invoices/invoice_input.ts";
import type { Example, Examples } from "../../core/fields/response.ts";
import type { InvoiceSchema, InvoiceStatusCheckSchema } from "../../core/invoices/schema.ts";

type Invoice = z.output<typeof InvoiceSchema>;

export const INVOICE_REQUESTS = {
  simple: {
    summary: "Required fields only",
    value: {
      customer_name: "Budi Utomo",
      due_date: "2099-12-31",
      items: [{ description: "Coffee beans, 1 kg", price: 75000, quantity: 2 }],
    },
  },
  complete: {
    summary: "All fields",
    value: {
      customer_name: "Budi Utomo",
      customer_email: "budi@example.com",
      customer_phone: "628123456789",
      customer_id: "customer-12",
      due_date: "2099-12-31",
      items: [
        { item_id: "sku-7", description: "Coffee beans, 1 kg", price: 75000, quantity: 2 },
        { item_id: "post", description: "Postage", price: 18000, quantity: 1 },
      ],
      notes: "Thank you for your order.",
      order_id: "order-1893",
      invoice_number: "2026/11/0042",
      metadata: { cart: "c-1893" },
    },
  },
} satisfies Examples<z.output<typeof InvoiceInputSchema>>;

const SENT: Invoice = {
  id: "0197a3d0-1c2b-7e44-9a6f-3b8d5e7c1f20",
  invoice_number: "INV-20260305-7K3M9QXD",
  order_id: "order-1893",
  gateway_invoice_id: "6b1f0e9d7c428d2a7b138c5e",
  status: "sent",
  customer_name: "Budi Utomo",
  customer_email: "budi@example.com",
  customer_phone: "628123456789",
  customer_id: "customer-12",
  total_amount: "150000.00",
  currency: "IDR",
  due_date: "2026-12-31",
  paid_at: null,
  notes: "Thank you for your order.",
  void_reason: null,
  payment_link_url: "https://app.midtrans.com/payment-links/6b1f0e9d7c428d2a7b138c5e",
  pdf_url: "https://app.midtrans.com/invoices/6b1f0e9d7c428d2a7b138c5e.pdf",
  items: [{
    id: "0197a3d0-1c2b-7f10-8e2d-6c4a9b0f3d51",
    item_id: "sku-7",
    description: "Coffee beans, 1 kg",
    quantity: 2,
    price: "75000.00",
    subtotal: "150000.00",
  }],
  is_overdue: false,
  metadata: { cart: "c-1893" },
  created_at: "2026-03-05T04:12:09.114Z",
  updated_at: "2026-03-05T04:12:09.482Z",
};

const PAID: Invoice = {
  ...SENT,
  id: "0197a3cf-77d0-7b31-8f0a-1d9c6e4b2a85",
  invoice_number: "INV-20260304-M2X8KQ4T",
  order_id: "order-1892",
  gateway_invoice_id: "5e0c7a41f9d3b26e8a17c4d2",
  status: "paid",
  paid_at: "2026-03-05T03:58:20.316Z",
  payment_link_url: "https://app.midtrans.com/payment-links/5e0c7a41f9d3b26e8a17c4d2",
  pdf_url: "https://app.midtrans.com/invoices/5e0c7a41f9d3b26e8a17c4d2.pdf",
  metadata: null,
  created_at: "2026-03-04T09:40:51.007Z",
  updated_at: "2026-03-05T03:58:20.316Z",
};

export const INVOICES = {
  sent_invoice: { summary: "Awaiting payment", value: SENT },
  paid_invoice: { summary: "Paid", value: PAID },
  voided_invoice: {
    summary: "Voided",
    value: {
      ...SENT,
      status: "void",
      void_reason: "Ordered twice",
      updated_at: "2026-03-05T06:20:44.190Z",
    },
  },
} satisfies Examples<Invoice>;

/** The responses to `INVOICE_REQUESTS`. */
export const CREATED_INVOICES = {
  simple: {
    summary: "Awaiting payment",
    value: {
      ...SENT,
      order_id: "0197a3d0-1c2b-7e44-9a6f-3b8d5e7c1f20",
      customer_email: null,
      customer_phone: null,
      customer_id: null,
      due_date: "2099-12-31",
      notes: null,
      items: SENT.items.map((item) => ({ ...item, item_id: null })),
      metadata: null,
    },
  },
  complete: {
    summary: "Awaiting payment, with all fields",
    value: {
      ...SENT,
      invoice_number: "2026/11/0042",
      total_amount: "168000.00",
      due_date: "2099-12-31",
      items: [...SENT.items, {
        id: "0197a3d0-1c2b-7f10-8e2d-6c4a9b0f3d52",
        item_id: "post",
        description: "Postage",
        quantity: 1,
        price: "18000.00",
        subtotal: "18000.00",
      }],
    },
  },
} satisfies Record<keyof typeof INVOICE_REQUESTS, Example<Invoice>>;

export const INVOICE_STATUS_CHECKS = {
  sent: {
    summary: "Awaiting payment",
    value: {
      invoice: SENT,
      gateway_response: {
        id: "6b1f0e9d7c428d2a7b138c5e",
        order_id: "order-1893",
        invoice_number: "INV-20260305-7K3M9QXD",
        status: "pending",
        gross_amount: 150000,
      },
    },
  },
  unconfirmed: {
    summary: "Not confirmed by the gateway yet",
    value: {
      invoice: {
        ...SENT,
        gateway_invoice_id: null,
        status: "pending",
        payment_link_url: null,
        pdf_url: null,
      },
      gateway_response: null,
    },
  },
} satisfies Examples<z.output<typeof InvoiceStatusCheckSchema>>;

export const INVOICE_PAGE = {
  page: { summary: "Two invoices", value: [SENT, PAID] },
} satisfies Examples<Invoice[]>;
