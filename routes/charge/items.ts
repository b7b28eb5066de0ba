/** `item_details`: what is paid for. */

import type { z } from "@hono/zod-openapi";
import { MAX_AMOUNT } from "../../core/money.ts";
import { list, object, text, wholeNumber } from "../../core/input_fields.ts";

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
