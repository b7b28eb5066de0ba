/** Schemas of subscriptions in responses. */

import { z } from "@hono/zod-openapi";
import { id, money, nullableText, owner, timestamp } from "../fields/response.ts";
import { SUBSCRIPTION_STATUSES } from "./states.ts";
import { INTERVAL_UNITS } from "./subscription_input.ts";

export const SubscriptionStatusSchema = z.enum(SUBSCRIPTION_STATUSES).openapi(
  "SubscriptionStatus",
  {
    description: [
      "- `pending`: not confirmed by the gateway yet; resend the request with the same " +
      "`Idempotency-Key` within 150 seconds, or wait for a notification",
      "- `active`: the customer is charged each cycle",
      "- `inactive`: ended by the gateway, after its last cycle or because a charge failed",
      "- `disabled`: paused by you; can be enabled again",
      "- `cancelled`: ended by you; final",
      "- `failed`: rejected by the gateway",
    ].join("\n"),
    example: "active",
  },
);

export const SubscriptionSchema = z.object({
  id,
  user_id: owner("subscription"),
  gateway_subscription_id: nullableText.openapi({
    description: "The gateway's id for the subscription; null until the gateway responds.",
    example: "d98a63b8-97e4-4059-825f-0f62340407e9",
  }),
  name: z.string().openapi({
    description: "Name of the subscription. The gateway uses it as a prefix of the order ids of " +
      "its charges.",
    example: "coffee-club",
  }),
  payment_type: z.string().openapi({
    description: "Payment method: `credit_card` or `gopay`.",
    example: "credit_card",
  }),
  amount: money("Amount charged each cycle."),
  currency: z.string().openapi({
    description: "Currency; always `IDR`.",
    example: "IDR",
  }),
  interval: z.int().openapi({ description: "Length of a cycle, in `interval_unit`.", example: 1 }),
  interval_unit: z.enum(INTERVAL_UNITS).openapi({
    description: "Unit of `interval`.",
    example: "month",
  }),
  max_interval: z.int().nullable().openapi({
    description: "Maximum number of cycles; null if unlimited.",
    example: 12,
  }),
  current_interval: z.int().openapi({ description: "Number of cycles started.", example: 3 }),
  start_time: timestamp("When the first cycle starts.").nullable(),
  next_execution_at: timestamp("When the next cycle starts; null if there is none.").nullable(),
  status: SubscriptionStatusSchema,
  customer_first_name: nullableText.openapi({
    description: "From `customer_details` of the request.",
    example: "Budi",
  }),
  customer_last_name: nullableText.openapi({
    description: "From `customer_details` of the request.",
    example: "Utomo",
  }),
  customer_email: nullableText.openapi({
    description: "From `customer_details` of the request.",
    example: "budi@example.com",
  }),
  customer_phone: nullableText.openapi({
    description: "From `customer_details` of the request.",
    example: "+628123456789",
  }),
  metadata: z.record(z.string(), z.unknown()).nullable().openapi({
    description: "Your `metadata`, unchanged.",
    example: { plan: "gold" },
  }),
  created_at: timestamp("When it was created."),
  updated_at: timestamp("When it was last updated."),
}).openapi("Subscription", {
  description:
    "A recurring charge that the gateway makes each cycle. Each charge is a payment with the " +
    "subscription's id as `subscription_id`. Every field except `user_id` is always present; " +
    "fields without a value are null.",
});

export const SubscriptionStatusCheckSchema = z.object({
  subscription: SubscriptionSchema,
  gateway_response: z.record(z.string(), z.unknown()).nullable().openapi({
    description: "The gateway's response, unchanged except that its token is removed; null if " +
      "the gateway has not confirmed the subscription yet.",
    example: { id: "d98a63b8-97e4-4059-825f-0f62340407e9", status: "active" },
  }),
}).openapi("SubscriptionStatusCheck", {
  description: "A subscription, and the gateway's response about it.",
});
