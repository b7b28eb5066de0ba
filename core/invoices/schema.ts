/** Response schemas of invoices. */

import { z } from "@hono/zod-openapi";
import { INVOICE_STATUSES } from "./states.ts";
import { id, money, nullableText, owner, timestamp } from "../fields/response.ts";

export const InvoiceStatusSchema = z.enum(INVOICE_STATUSES).openapi("InvoiceStatus", {
  description: [
    "- `pending`: not confirmed by the gateway yet; the service resends the request for 5 " +
    "minutes, and then waits for a notification",
    "- `draft`: created, but not published",
    "- `sent`: published; awaiting payment",
    "- `partial`: partially paid",
    "- `overdue`: unpaid past its due date; the customer can still pay",
    "- `paid`: fully paid",
    "- `void`: voided; becomes `paid` only if the customer completes a payment started before",
    "- `failed`: rejected by the gateway",
  ].join("\n"),
  example: "sent",
});

const InvoiceItemSchema = z.object({
  id,
  item_id: nullableText.openapi({ description: "Your id for the item.", example: "sku-7" }),
  description: z.string().openapi({
    description: "Description.",
    example: "Coffee beans, 1 kg",
  }),
  quantity: z.int().openapi({
    description: "Quantity.",
    example: 2,
  }),
  price: money("Unit price; negative for a discount.", "75000.00"),
  subtotal: money("Price times quantity."),
}).openapi("InvoiceItem", { description: "A line item of an invoice." });

export const InvoiceSchema = z.object({
  id,
  user_id: owner("invoice"),
  invoice_number: z.string().openapi({
    description: "Invoice number shown to the customer.",
    example: "INV-20261115-7K3M9QXD",
  }),
  order_id: z.string().openapi({
    description: "Your order id, or the generated one.",
    example: "order-1893",
  }),
  gateway_invoice_id: nullableText.openapi({
    description: "The gateway's id for the invoice; null until the gateway responds.",
    example: "6b1f0e9d7c428d2a7b138c5e",
  }),
  status: InvoiceStatusSchema,
  customer_name: z.string().openapi({
    description: "Customer's name.",
    example: "Budi Utomo",
  }),
  customer_email: nullableText.openapi({
    description: "Customer's email address.",
    example: "budi@example.com",
  }),
  customer_phone: nullableText.openapi({
    description: "Customer's phone number.",
    example: "628123456789",
  }),
  customer_id: nullableText.openapi({
    description: "Your id for the customer.",
    example: "customer-12",
  }),
  total_amount: money("Amount to pay: the sum of the line items."),
  currency: z.string().openapi({
    description: "Currency; always `IDR`.",
    example: "IDR",
  }),
  due_date: z.iso.date().openapi({
    description: "Last day to pay. The day ends at midnight Western Indonesia Time (UTC+7).",
    example: "2026-12-31",
  }),
  paid_at: timestamp("When the service learned that it was paid; null if unpaid.").nullable()
    .openapi({ example: null }),
  notes: nullableText.openapi({
    description: "Text shown below the line items.",
    example: "Thank you for your order.",
  }),
  void_reason: nullableText.openapi({ description: "Why the invoice was voided." }),
  payment_link_url: nullableText.openapi({
    description: "URL of the page where the customer pays. Send it to the customer.",
    example: "https://app.midtrans.com/payment-links/6b1f0e9d7c428d2a7b138c5e",
  }),
  pdf_url: nullableText.openapi({
    description: "The invoice as a PDF.",
    example: "https://app.midtrans.com/invoices/6b1f0e9d7c428d2a7b138c5e.pdf",
  }),
  items: z.array(InvoiceItemSchema).openapi({ description: "Line items." }),
  is_overdue: z.boolean().openapi({
    description: "True if it is unpaid past its due date.",
    example: false,
  }),
  metadata: z.record(z.string(), z.unknown()).nullable().openapi({
    description: "Your `metadata`, unchanged.",
    example: { cart: "c-1893" },
  }),
  created_at: timestamp("When it was created."),
  updated_at: timestamp("When it was last updated."),
}).openapi("Invoice", {
  description: "An invoice with a hosted payment page. Payments of the invoice have its id as " +
    "`invoice_id`. Every field except `user_id` is always present; fields without a value are " +
    "null.",
});

export const InvoiceStatusCheckSchema = z.object({
  invoice: InvoiceSchema,
  gateway_response: z.record(z.string(), z.unknown()).nullable().openapi({
    description: "The gateway's response, unchanged; null if the gateway has not confirmed the " +
      "invoice yet.",
    example: { id: "6b1f0e9d7c428d2a7b138c5e", status: "pending" },
  }),
}).openapi("InvoiceStatusCheck", {
  description: "An invoice, and the gateway's response about it.",
});
