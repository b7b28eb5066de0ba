/** The parts that charges of several payment types share: customer, items, expiry, common fields. */

import { z } from "@hono/zod-openapi";
import { amount, email, list, object, oneOf, orderId, text, wholeNumber } from "../input_fields.ts";
import { MetadataSchema } from "../metadata.ts";
import { MAX_AMOUNT } from "../money.ts";

export const AddressSchema = object({
  first_name: text(255).optional().openapi({ description: "Who lives there.", example: "Budi" }),
  last_name: text(255).optional().openapi({ description: "Their last name.", example: "Utomo" }),
  phone: text(255).optional().openapi({
    description: "Their phone number.",
    example: "+628123456789",
  }),
  address: text(255).optional().openapi({
    description: "Street and number.",
    example: "Jalan Merdeka 17",
  }),
  city: text(255).optional().openapi({ description: "The city.", example: "Jakarta" }),
  postal_code: text(10).optional().openapi({ description: "Its postal code.", example: "10110" }),
  country_code: text(3).optional().openapi({
    description: "Three letters (ISO 3166-1); the gateway knows `IDN` alone.",
    example: "IDN",
  }),
}).openapi("Address", { description: "Where somebody lives, or something is sent to." });

export const CustomerSchema = object({
  first_name: text(255).optional().openapi({ description: "Their first name.", example: "Budi" }),
  last_name: text(255).optional().openapi({ description: "Their last name.", example: "Utomo" }),
  email: email().optional().openapi({ description: "Their e-mail address." }),
  phone: text(255).optional().openapi({
    description: "Their phone number.",
    example: "+628123456789",
  }),
  billing_address: AddressSchema.optional(),
  shipping_address: AddressSchema.optional(),
}).openapi("CustomerDetails", {
  description: "Who pays. Banks show the name, and the gateway's fraud detection uses the rest.",
});

const MAX_ITEMS = 1000;

export const ItemSchema = object({
  id: text(50).optional().openapi({ description: "Your id of it.", example: "sku-7" }),
  name: text(50).openapi({ description: "What it is.", example: "Coffee beans, 1 kg" }),
  price: wholeNumber(-MAX_AMOUNT, MAX_AMOUNT).openapi({
    description: "Of one, in rupiah; a discount is an item with a price below 0.",
    example: 75000,
  }),
  quantity: wholeNumber(1, 99_999_999).openapi({
    description: "How many of it.",
    example: 2,
  }),
  brand: text(50).optional().openapi({ description: "Of whom it is." }),
  category: text(50).optional().openapi({
    description: "What kind of thing it is.",
    example: "Groceries",
  }),
  merchant_name: text(50).optional().openapi({ description: "Who sells it." }),
  url: text(2000).optional().openapi({
    description: "Where it is shown.",
    example: "https://shop.example/coffee",
  }),
}).openapi("ItemDetails", { description: "One of the things that are paid for." });

export function items<T extends z.ZodType>(item: T) {
  return list(item, MAX_ITEMS);
}

interface Priced {
  gross_amount: number;
  item_details?: { price: number; quantity: number }[];
}

/** Holds a charge's items to its amount; integers of any size, because products outgrow numbers. */
export function addUp({ gross_amount, item_details }: Priced, context: z.RefinementCtx): void {
  if (!item_details) return;
  let sum = 0n;
  for (const [index, { price, quantity }] of item_details.entries()) {
    const subtotal = BigInt(price) * BigInt(quantity);
    sum += subtotal;
    if (subtotal <= MAX_SUBTOTAL && subtotal >= -MAX_SUBTOTAL) continue;
    const message = `must come to at most ${MAX_AMOUNT}, price times quantity`;
    context.addIssue({ code: "custom", path: ["item_details", index], message });
  }
  if (sum === BigInt(gross_amount)) return;
  const message = `must add up to gross_amount: they come to ${sum}, not to ${gross_amount}`;
  context.addIssue({ code: "custom", path: ["item_details"], message });
}

const MAX_SUBTOTAL = BigInt(MAX_AMOUNT);

export const common = {
  gross_amount: amount().openapi({
    description: "What the customer pays, in whole rupiah.",
    example: 150000,
  }),
  order_id: orderId(50).optional().openapi({
    description: "Your number of the order; made up where left out. It is taken for good, unless " +
      "the gateway refuses the charge: then you may use it again.",
    example: "order-1893",
  }),
  customer_details: CustomerSchema.optional(),
  item_details: items(ItemSchema).optional().openapi({
    description: "What is paid for. Where given, it has to add up to `gross_amount`.",
  }),
  metadata: MetadataSchema.optional(),
  custom_fields: list(text(255), 3).optional().openapi({
    description: "Up to three notes, shown in the gateway's own reports too.",
    example: ["branch 12", "till 3"],
  }),
};

/** For all but cards and OVO, whose time the gateway sets. */
export const expiring = {
  custom_expiry: object({
    expiry_duration: wholeNumber(1, 15_552_000).openapi({
      description: "How many units.",
      example: 2,
    }),
    unit: oneOf(["second", "minute", "hour", "day"]).default("minute").openapi({
      description: "Of `expiry_duration`.",
      example: "hour",
    }),
  }).openapi("CustomExpiry", {
    description: "How long the customer has, counted from now; at least 20 seconds. What is more " +
      "than the payment type allows (180 days, wallets a few), the gateway cuts or refuses.",
  }).optional(),
};

export type CustomerInput = z.output<typeof CustomerSchema>;

export type ItemInput = z.output<typeof ItemSchema>;
