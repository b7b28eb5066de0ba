/** What an invoice is asked for with, held to the gateway's rules (G§8). */

import { endOfDayInWib } from "../../core/gateway/times.ts";
import { totalOf } from "../../core/invoices/invoice_input.ts";
import { MAX_AMOUNT } from "../../core/money.ts";
import {
  email,
  list,
  note,
  object,
  omitNulls,
  orderId,
  text,
  wholeNumber,
} from "../../core/input_fields.ts";
import { MetadataSchema } from "../../core/metadata.ts";

const MAX_ITEMS = 100;
const MOST = 99_999_999;

const InvoiceItemInputSchema = object({
  item_id: text(30).optional().openapi({ description: "Your id of it.", example: "sku-7" }),
  description: text(150).openapi({ description: "What it is.", example: "Coffee beans, 1 kg" }),
  price: wholeNumber(0, MOST).openapi({ description: "Of one, in rupiah.", example: 75000 }),
  quantity: wholeNumber(1, MOST).openapi({ description: "How many of it.", example: 2 }),
}).openapi("InvoiceItemRequest", { description: "One line of an invoice." });

const items = list(InvoiceItemInputSchema, MAX_ITEMS).superRefine((items, context) => {
  const total = totalOf(items);
  const refuse = (message: string) => context.addIssue({ code: "custom", message });
  if (total === 0n) refuse("must come to more than 0");
  if (total > BigInt(MAX_AMOUNT)) refuse(`must come to at most ${MAX_AMOUNT}`);
});

export const InvoiceInputSchema = omitNulls(object({
  customer_name: text(40).openapi({ description: "Whom it is for.", example: "Budi Utomo" }),
  customer_email: email().optional().openapi({ description: "The customer's address." }),
  customer_phone: text(15).regex(
    /^\+?[1-9]\d+$/,
    "must be digits, with the country first (62812…) and no 0 before it",
  ).optional().openapi({
    description: "The customer's number, with the country first and no 0 before it.",
    example: "628123456789",
  }),
  customer_id: text(36).optional().openapi({
    description: "Your id of the customer.",
    example: "customer-12",
  }),
  due_date: text(10).refine(
    (day) => endOfDayInWib(day) !== null,
    "must be a date such as 2026-12-31",
  ).openapi({
    format: "date",
    description: "To be paid until the end of this day, in Western Indonesia (UTC+7). Today is " +
      "the earliest.",
    example: "2099-12-31",
  }),
  items: items.openapi({ description: "What is billed." }),
  notes: note(1000).optional().openapi({
    description: "What is to stand below the items.",
    example: "Thank you for your order.",
  }),
  order_id: orderId(36).optional().openapi({
    description: "Your number of the order; made up where left out. It is taken for good, unless " +
      "the gateway refuses the invoice: then you may use it again.",
    example: "order-1893",
  }),
  invoice_number: text(40).optional().openapi({
    description: "What the customer knows it by; made up where left out, and never used twice.",
    example: "2026/11/0042",
  }),
  metadata: MetadataSchema.optional(),
})).openapi("InvoiceRequest", { description: "Whom to bill, for what, and until when." });
