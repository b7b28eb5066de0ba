/** The fields that charges of several payment types share: customer, items, expiry, order. */

import type { z } from "@hono/zod-openapi";
import {
  amount,
  email,
  list,
  object,
  oneOf,
  optionalIfEmpty,
  optionalText,
  optionalTextLike,
  orderId,
  text,
  wholeNumber,
} from "../fields/input.ts";
import { MetadataSchema } from "../fields/metadata.ts";
import { MAX_AMOUNT } from "../money.ts";

export const AddressSchema = object({
  first_name: optionalText(255).openapi({ description: "First name.", example: "Budi" }),
  last_name: optionalText(255).openapi({ description: "Last name.", example: "Utomo" }),
  phone: optionalText(255).openapi({ description: "Phone number.", example: "+628123456789" }),
  address: optionalText(255).openapi({
    description: "Street and number.",
    example: "Jalan Merdeka 17",
  }),
  city: optionalText(255).openapi({ description: "City.", example: "Jakarta" }),
  postal_code: optionalTextLike(
    10,
    /^[A-Za-z0-9 -]*$/,
    "must contain only letters, digits, spaces and hyphens",
  ).openapi({ description: "Postal code.", example: "10110" }),
  country_code: optionalTextLike(3, /^(IDN)?$/, "must be IDN; the gateway accepts no other country")
    .openapi({
      description: "Three-letter country code (ISO 3166-1); the gateway accepts `IDN` only.",
      example: "IDN",
    }),
}).openapi("Address", { description: "A billing or shipping address." });

/** Exported as fields, so that a payment type can require a field that is optional here. */
export const customerFields = {
  first_name: optionalText(255).openapi({ description: "First name.", example: "Budi" }),
  last_name: optionalText(255).openapi({ description: "Last name.", example: "Utomo" }),
  email: optionalIfEmpty(email()).openapi({ description: "Email address." }),
  phone: optionalText(255).openapi({ description: "Phone number.", example: "+628123456789" }),
  billing_address: AddressSchema.optional(),
  shipping_address: AddressSchema.optional(),
};

export const CUSTOMER = {
  description: "The customer. Banks display the name; the gateway's fraud detection uses the " +
    "other fields.",
};

const CustomerSchema = object(customerFields).openapi("CustomerDetails", CUSTOMER);

export type CustomerInput = z.output<typeof CustomerSchema>;

const MAX_ITEMS = 1000;

/** Exported as fields, so that a payment type can require a field that is optional here. */
export const itemFields = {
  id: optionalText(50).openapi({ description: "Your id for the item.", example: "sku-7" }),
  name: text(50).openapi({ description: "Name.", example: "Coffee beans, 1 kg" }),
  price: wholeNumber(-MAX_AMOUNT, MAX_AMOUNT).openapi({
    description: "Unit price in rupiah; negative for a discount.",
    example: 75000,
  }),
  quantity: wholeNumber(1, 99_999_999).openapi({ description: "Quantity.", example: 2 }),
  brand: optionalText(50).openapi({ description: "Brand." }),
  category: optionalText(50).openapi({ description: "Category.", example: "Groceries" }),
  merchant_name: optionalText(50).openapi({ description: "Name of the seller." }),
  url: optionalText(2000).openapi({
    description: "Product page URL.",
    example: "https://shop.example/coffee",
  }),
};

export const ITEM = { description: "An item of the order." };

const ItemSchema = object(itemFields).openapi("ItemDetails", ITEM);

export type ItemInput = z.output<typeof ItemSchema>;

export function itemList<T extends z.ZodType>(item: T) {
  return list(item, MAX_ITEMS);
}

interface Priced {
  gross_amount: number;
  item_details?: { price: number; quantity: number }[];
}

const MAX_SUBTOTAL = BigInt(MAX_AMOUNT);

/** Rejects items that do not sum to the charge's amount. BigInt: a subtotal can exceed 2^53. */
export function checkItemTotal(
  { gross_amount, item_details }: Priced,
  context: z.RefinementCtx,
): void {
  if (!item_details) return;
  let sum = 0n;
  for (const [index, { price, quantity }] of item_details.entries()) {
    const subtotal = BigInt(price) * BigInt(quantity);
    sum += subtotal;
    if (subtotal <= MAX_SUBTOTAL && subtotal >= -MAX_SUBTOTAL) continue;
    const message = `price times quantity must be between -${MAX_AMOUNT} and ${MAX_AMOUNT}`;
    context.addIssue({ code: "custom", path: ["item_details", index], message });
  }
  if (sum === BigInt(gross_amount)) return;
  const message = `must add up to gross_amount: the sum of the items is ${sum}, but gross_amount ` +
    `is ${gross_amount}`;
  context.addIssue({ code: "custom", path: ["item_details"], message });
}

export const commonFields = {
  gross_amount: amount().openapi({
    description: "Amount to charge, in whole rupiah.",
    example: 150000,
  }),
  order_id: orderId(50).optional().openapi({
    description: "Your order id; generated if omitted. Each id can be used for one charge. If " +
      "the gateway rejects the charge, you can use the id again.",
    example: "order-1893",
  }),
  customer_details: CustomerSchema.optional(),
  item_details: itemList(ItemSchema).optional().openapi({
    description: "Items of the order. If present, the total must equal `gross_amount`.",
  }),
  metadata: MetadataSchema.optional(),
  custom_fields: list(text(255), 3).optional().openapi({
    description: "Up to three values that also appear in the gateway's own reports.",
    example: ["branch 12", "register 3"],
  }),
};

/** Shared by all types except cards and OVO, for which the gateway sets the expiry. */
export const expiryFields = {
  custom_expiry: object({
    expiry_duration: wholeNumber(1, 15_552_000).openapi({
      description: "Time in which the customer can pay, in `unit`.",
      example: 2,
    }),
    unit: oneOf(["second", "minute", "hour", "day"]).default("minute").openapi({
      description: "Unit of `expiry_duration`.",
      example: "hour",
    }),
  }).openapi("CustomExpiry", {
    description: "How long the customer can pay, counted from the time of the charge. The " +
      "minimum is 20 seconds, for `dana` 15 minutes. The maximum depends on the payment type: at " +
      "most 180 days, and less for e-wallets and QRIS. The gateway shortens or rejects longer " +
      "times.",
  }).optional(),
};
