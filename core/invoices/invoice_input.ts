/** The body of a request that creates an invoice, and the type inferred from it. */

import type { z } from "@hono/zod-openapi";
import { endOfDayInWib } from "../gateway/times.ts";
import {
  email,
  list,
  object,
  omitNulls,
  optionalIfEmpty,
  optionalNote,
  optionalText,
  orderId,
  text,
  textLike,
  wholeNumber,
} from "../fields/input.ts";
import { GATEWAY_INVOICE, rejectGatewayFields } from "../fields/gateway_fields.ts";
import { MetadataSchema } from "../fields/metadata.ts";
import { MAX_AMOUNT } from "../money.ts";

// Limits of the gateway.
const MAX_ITEMS = 100;
const MAX_ITEM_NUMBER = 99_999_999;
const MAX_DISCOUNT = 99_999_999_999n;

const InvoiceItemInputSchema = object({
  item_id: optionalText(30).openapi({ description: "Your id for the item.", example: "sku-7" }),
  description: text(150).openapi({
    description: "Description.",
    example: "Coffee beans, 1 kg",
  }),
  price: wholeNumber(-MAX_ITEM_NUMBER, MAX_ITEM_NUMBER).openapi({
    description: "Unit price in rupiah; negative for a discount.",
    example: 75000,
  }),
  quantity: wholeNumber(1, MAX_ITEM_NUMBER).openapi({ description: "Quantity.", example: 2 }),
}).openapi("InvoiceItemRequest", { description: "A line item of an invoice." });

const items = list(InvoiceItemInputSchema, MAX_ITEMS).superRefine((items, context) => {
  const total = totalOf(items);
  const reject = (message: string) => context.addIssue({ code: "custom", message });
  if (total <= 0n) reject("must add up to more than 0");
  if (discountOf(items) > MAX_DISCOUNT) reject(`must have discounts of at most ${MAX_DISCOUNT}`);
  if (total > BigInt(MAX_AMOUNT)) reject(`must add up to at most ${MAX_AMOUNT}`);
});

const InvoiceFields = object({
  customer_name: text(40).openapi({ description: "Customer's name.", example: "Budi Utomo" }),
  customer_email: optionalIfEmpty(email()).openapi({ description: "Customer's email address." }),
  customer_phone: optionalIfEmpty(
    textLike(
      15,
      /^\+?[1-9]\d+$/,
      "must start with the country code and contain only digits, such as 628123456789",
    ),
  ).openapi({
    description: "Customer's phone number, starting with the country code, without a leading 0.",
    example: "628123456789",
  }),
  customer_id: optionalText(36).openapi({
    description: "Your id for the customer.",
    example: "customer-12",
  }),
  // The length is not checked first: a date with a time gets the error that names the format.
  due_date: text(255).refine(
    (day) => endOfDayInWib(day) !== null,
    "must be a date such as 2026-12-31",
  ).openapi({
    format: "date",
    maxLength: 10,
    description: "Last day to pay: today or later. The day ends at midnight Western Indonesia " +
      "Time (UTC+7).",
    example: "2099-12-31",
  }),
  items: items.openapi({ description: "Line items." }),
  notes: optionalNote(1000).openapi({
    description: "Text shown below the line items.",
    example: "Thank you for your order.",
  }),
  order_id: orderId(36).optional().openapi({
    description: "Your order id; generated if omitted. Each id can be used for one invoice. If " +
      "the gateway rejects the invoice, you can use the id again.",
    example: "order-1893",
  }),
  invoice_number: text(40).optional().openapi({
    description: "Invoice number shown to the customer; unique, and generated if omitted.",
    example: "2026/11/0042",
  }),
  metadata: MetadataSchema.optional(),
});

export const InvoiceInputSchema = omitNulls(rejectGatewayFields(InvoiceFields, GATEWAY_INVOICE))
  .openapi("InvoiceRequest", { description: "The invoice to create." });

export type InvoiceInput = z.output<typeof InvoiceInputSchema>;

/** In whole rupiah. BigInt: price times quantity can exceed 2^53. */
export function totalOf(items: { price: number; quantity: number }[]): bigint {
  return items.reduce((sum, { price, quantity }) => sum + BigInt(price) * BigInt(quantity), 0n);
}

/** What the items with a negative price take off, in whole rupiah. */
export function discountOf(items: { price: number; quantity: number }[]): bigint {
  return -totalOf(items.filter(({ price }) => price < 0));
}

export const VoidInputSchema = omitNulls(object({
  reason: optionalText(255).openapi({
    description: "Why it is voided; stored with the invoice and sent to the gateway.",
    example: "Ordered twice",
  }),
})).openapi("VoidRequest", { description: "Why the invoice is voided." });
