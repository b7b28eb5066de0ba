/** Invoices as they are answered with. */

import { z } from "@hono/zod-openapi";
import { INVOICE_STATUSES } from "../../core/invoices/states.ts";
import { id, money, nullableText, timestamp } from "./common.ts";

export const InvoiceStatusSchema = z.enum(INVOICE_STATUSES).openapi("InvoiceStatus", {
  description: [
    "- `pending`: the gateway has not answered yet; the service finds out",
    "- `draft`, `sent`: waits for the customer",
    "- `partial`: paid in part",
    "- `overdue`: past its due date, and not paid; the customer still can",
    "- `paid`",
    "- `void`: taken back",
    "- `failed`: refused by the gateway",
  ].join("\n"),
  example: "sent",
});

const InvoiceItemSchema = z.object({
  id,
  item_id: nullableText.openapi({ description: "Your id of it.", example: "sku-7" }),
  description: z.string().openapi({
    description: "What it is.",
    example: "Coffee beans, 1 kg",
  }),
  quantity: z.int().openapi({
    description: "How many of it.",
    example: 2,
  }),
  price: money("Of one.", "75000.00"),
  subtotal: money("Price times quantity."),
}).openapi("InvoiceItem", { description: "One line of an invoice." });

export const InvoiceSchema = z.object({
  id,
  invoice_number: z.string().openapi({
    description: "What the customer knows it by.",
    example: "INV-20261115-7K3M9QXD",
  }),
  order_id: z.string().openapi({
    description: "Your number of the order, or the one that was made up.",
    example: "order-1893",
  }),
  gateway_invoice_id: nullableText.openapi({
    description: "The gateway's; null until it has answered.",
    example: "6b1f0e9d7c428d2a7b138c5e",
  }),
  status: InvoiceStatusSchema,
  customer_name: z.string().openapi({
    description: "Whom it is for.",
    example: "Budi Utomo",
  }),
  customer_email: nullableText.openapi({
    description: "The customer's address.",
    example: "budi@example.com",
  }),
  customer_phone: nullableText.openapi({
    description: "The customer's number.",
    example: "628123456789",
  }),
  customer_id: nullableText.openapi({
    description: "Your id of the customer.",
    example: "customer-12",
  }),
  total_amount: money("What is to be paid: the sum of its items."),
  currency: z.string().openapi({
    description: "Always rupiah.",
    example: "IDR",
  }),
  due_date: z.iso.date().openapi({
    description: "To be paid until the end of this day, in Western Indonesia (UTC+7).",
    example: "2026-12-31",
  }),
  paid_at: timestamp("When it was known to be paid.").nullable().openapi({ example: null }),
  notes: nullableText.openapi({
    description: "What stands below the items.",
    example: "Thank you for your order.",
  }),
  void_reason: nullableText.openapi({ description: "Why it was taken back." }),
  payment_link_url: nullableText.openapi({
    description: "Where the customer pays: send it to them.",
    example: "https://app.midtrans.com/payment-links/6b1f0e9d7c428d2a7b138c5e",
  }),
  pdf_url: nullableText.openapi({
    description: "The invoice on paper.",
    example: "https://app.midtrans.com/invoices/6b1f0e9d7c428d2a7b138c5e.pdf",
  }),
  items: z.array(InvoiceItemSchema).openapi({ description: "What is billed." }),
  is_overdue: z.boolean().openapi({
    description: "Past its due date, and not paid.",
    example: false,
  }),
  metadata: z.record(z.string(), z.unknown()).nullable().openapi({
    description: "Yours, as it was sent.",
    example: { cart: "c-1893" },
  }),
  created_at: timestamp("When it was made."),
  updated_at: timestamp("When it last changed."),
}).openapi("Invoice", {
  description: "A bill with a page to pay it on. What is paid there are payments with its " +
    "`invoice_id`. Every member is always there; what is absent is null.",
});
