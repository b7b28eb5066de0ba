/** Webhook endpoints and deliveries as they are answered with. */

import { z } from "@hono/zod-openapi";
import { DELIVERY_STATUSES } from "../../db/webhook_deliveries.ts";
import { DISABLED_REASONS } from "../../db/webhook_endpoints.ts";
import { EventNameSchema } from "../schemas/event_name.ts";
import { id, nullableText, timestamp } from "../schemas/common.ts";

const nullableTime = (description: string) =>
  timestamp(description).nullable().openapi({ example: null });

export const WebhookEndpointSchema = z.object({
  id,
  url: z.string().openapi({
    description: "Where events are sent to.",
    example: "https://shop.example/webhooks",
  }),
  event_names: z.array(EventNameSchema).nullable().openapi({
    description: "Only these are sent; null: every event.",
    example: ["payment_settled", "payment_refunded"],
  }),
  description: nullableText.openapi({
    description: "Yours, for people.",
    example: "The shop's order system",
  }),
  enabled: z.boolean().openapi({
    description: "While it is not, what there would be to send waits.",
    example: true,
  }),
  disabled_reason: z.enum(DISABLED_REASONS).nullable().openapi({
    description: [
      "Why it is not enabled:",
      "- `requested`: staff disabled it",
      "- `gone`: it answered 410",
      "- `failing`: for a day every attempt failed",
    ].join("\n"),
    example: null,
  }),
  failing_since: nullableTime("Since when every attempt has failed; null: the last one did not."),
  previous_secret_until: nullableTime(
    "Until then what is sent is also signed with the secret before the newest.",
  ),
  created_at: timestamp("When it was made."),
  updated_at: timestamp("When it last changed."),
}).openapi("WebhookEndpoint", { description: "An address that events are sent to." });

export const WebhookEndpointWithSecretSchema = WebhookEndpointSchema.extend({
  secret: z.string().openapi({
    description: "What is sent is signed with it. It is shown this once.",
    example: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazB84nYq0mA=",
  }),
}).openapi("WebhookEndpointWithSecret", {
  description: "An endpoint whose secret was just made.",
});

/** What came of an attempt. */
const posted = {
  status_code: z.int().nullable().openapi({
    description: "What the endpoint answered; null: nothing.",
    example: 200,
  }),
  answer: nullableText.openapi({
    description: "The first bytes of its answer's body.",
    example: "ok",
  }),
  error: nullableText.openapi({
    description: "Why there was no answer.",
    example: null,
  }),
};

export const WebhookDeliverySchema = z.object({
  id: id.openapi({ description: "The event's id, which is sent as `webhook-id`." }),
  event_name: EventNameSchema,
  resource_id: id.openapi({ description: "What the event is about." }),
  status: z.enum(DELIVERY_STATUSES).openapi("WebhookDeliveryStatus", {
    description: [
      "- `pending`: to be sent, or to be tried again at `next_attempt_at`",
      "- `delivered`: answered with 2xx",
      "- `failed`: given up after the last attempt",
    ].join("\n"),
    example: "delivered",
  }),
  attempts: z.int().openapi({ description: "How often it was tried.", example: 1 }),
  next_attempt_at: nullableTime(
    "When it is to be tried; not before what was to be sent earlier about the same resource.",
  ),
  last_attempt_at: timestamp("When the last attempt was over.").nullable(),
  ...posted,
  duration_ms: z.int().nullable().openapi({
    description: "How long the last attempt took.",
    example: 84,
  }),
  delivered_at: timestamp("When it was taken.").nullable(),
  created_at: timestamp("When the event happened."),
}).openapi("WebhookDelivery", { description: "One event on its way to one endpoint." });

export const WebhookTestResultSchema = z.object({
  id: id.openapi({ description: "Of the event that was sent, as `webhook-id`." }),
  succeeded: z.boolean().openapi({ description: "Whether it answered with 2xx.", example: true }),
  ...posted,
  duration_ms: z.int().openapi({ description: "How long it took.", example: 84 }),
}).openapi("WebhookTestResult", { description: "What came of a test." });
