/** What charges of every payment type have in common. */

import { z } from "@hono/zod-openapi";
import type { PaymentType } from "../../core/payments/charge_input.ts";
import {
  amount,
  list,
  object,
  oneOf,
  orderId,
  text,
  wholeNumber,
} from "../../core/input_fields.ts";
import { MetadataSchema } from "../../core/metadata.ts";
import { CustomerSchema } from "./customer.ts";
import { items, ItemSchema } from "./items.ts";

/** What tells the kinds of charges apart. */
export function paymentType<const T extends PaymentType>(type: T) {
  return z.literal(type).openapi({ description: "How it is to be paid." });
}

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
