/** Subscriptions as they are answered with. */

import { z } from "@hono/zod-openapi";
import { SUBSCRIPTION_STATUSES } from "../../core/subscriptions/states.ts";
import { INTERVAL_UNITS } from "../../db/subscriptions.ts";
import { id, money, nullableText, timestamp } from "./common.ts";

export const SubscriptionStatusSchema = z.enum(SUBSCRIPTION_STATUSES).openapi(
  "SubscriptionStatus",
  {
    description: [
      "- `pending`: the gateway has not answered yet; the service finds out",
      "- `active`: the customer is charged time and again",
      "- `inactive`: ended by the gateway, after its last cycle or because a charge failed",
      "- `disabled`: paused by you; it can be enabled again",
      "- `cancelled`: ended by you, for good",
      "- `failed`: refused by the gateway",
    ].join("\n"),
    example: "active",
  },
);

export const SubscriptionSchema = z.object({
  id,
  gateway_subscription_id: nullableText.openapi({
    description: "The gateway's; null until it has answered.",
    example: "d98a63b8-97e4-4059-825f-0f62340407e9",
  }),
  name: z.string().openapi({
    description: "The orders of its charges begin with it.",
    example: "coffee-club",
  }),
  payment_type: z.string().openapi({
    description: "What is charged: `credit_card` or `gopay`.",
    example: "credit_card",
  }),
  amount: money("Charged in each cycle."),
  currency: z.string().openapi({
    description: "Always rupiah.",
    example: "IDR",
  }),
  interval: z.int().openapi({ description: "So many units are one cycle.", example: 1 }),
  interval_unit: z.enum(INTERVAL_UNITS).openapi({
    description: "Of `interval`.",
    example: "month",
  }),
  max_interval: z.int().nullable().openapi({
    description: "Cycles at most; null: without end.",
    example: 12,
  }),
  current_interval: z.int().openapi({ description: "Cycles that were begun.", example: 3 }),
  start_time: timestamp("When the first cycle begins.").nullable(),
  next_execution_at: timestamp("When the next cycle begins; null: there is none.").nullable(),
  status: SubscriptionStatusSchema,
  customer_first_name: nullableText.openapi({
    description: "As in `customer_details` of the request.",
    example: "Budi",
  }),
  customer_last_name: nullableText.openapi({
    description: "As in `customer_details` of the request.",
    example: "Utomo",
  }),
  customer_email: nullableText.openapi({
    description: "As in `customer_details` of the request.",
    example: "budi@example.com",
  }),
  customer_phone: nullableText.openapi({
    description: "As in `customer_details` of the request.",
    example: "+628123456789",
  }),
  metadata: z.record(z.string(), z.unknown()).nullable().openapi({
    description: "Yours, as it was sent.",
    example: { plan: "gold" },
  }),
  created_at: timestamp("When it was made."),
  updated_at: timestamp("When it last changed."),
}).openapi("Subscription", {
  description:
    "What the gateway charges a customer for by itself, time and again. Each charge is " +
    "a payment with its `subscription_id`. Every member is always there; what is absent is null.",
});
