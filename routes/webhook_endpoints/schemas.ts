/** Response schemas of webhook endpoints and deliveries. */

import { z } from "@hono/zod-openapi";
import { id, nullableText, timestamp } from "../../core/fields/response.ts";
import { DELIVERY_STATUSES } from "../../core/webhooks/deliveries.ts";
import { DISABLED_REASONS } from "../../core/webhooks/endpoints.ts";
import { EventNameSchema } from "../../core/events/names.ts";
import { pathId } from "../../http/paths.ts";

const nullableTime = (description: string) =>
  timestamp(description).nullable().openapi({ example: null });

export const endpointId = pathId("The endpoint's `id`.");

export const WebhookEndpointSchema = z.object({
  id,
  url: z.string().openapi({
    description: "URL that events are sent to.",
    example: "https://shop.example/webhooks",
  }),
  event_names: z.array(EventNameSchema).nullable().openapi({
    description: "Events that the endpoint receives; null for every event.",
    example: ["payment_settled", "payment_refunded"],
  }),
  description: nullableText.openapi({
    description: "Your own description of the endpoint.",
    example: "The shop's order system",
  }),
  enabled: z.boolean().openapi({
    description: "If false, deliveries wait: they are stored, and sent when the endpoint is " +
      "enabled again.",
    example: true,
  }),
  disabled_reason: z.union([z.enum(DISABLED_REASONS), z.null()]).openapi({
    description: [
      "Why the endpoint is disabled:",
      "- `requested`: staff disabled it",
      "- `gone`: the endpoint returned 410",
      "- `failing`: every attempt failed for 24 hours",
    ].join("\n"),
    example: null,
  }),
  failing_since: nullableTime(
    "Time of the first failure since the last successful attempt; null if the last attempt " +
      "succeeded.",
  ),
  previous_secret_until: nullableTime(
    "End of the secret rotation. Until this time, deliveries are signed with both the new and " +
      "the previous secret; null if no rotation is in progress.",
  ),
  created_at: timestamp("When the endpoint was created."),
  updated_at: timestamp("When the endpoint last changed."),
}).openapi("WebhookEndpoint", { description: "A URL that events are sent to." });

export const WebhookEndpointWithSecretSchema = z.object({
  ...WebhookEndpointSchema.shape,
  secret: z.string().openapi({
    description: "Secret that signs the deliveries. Shown only once.",
    example: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazB84nYq0mA=",
  }),
}).openapi("WebhookEndpointWithSecret", {
  description: "An endpoint with its new secret.",
});

/** Result of an attempt. */
const attempt = {
  status_code: z.int().nullable().openapi({
    description: "HTTP status of the endpoint's response; null if there was none.",
    example: 200,
  }),
  answer: nullableText.openapi({
    description: "Beginning of the response body.",
    example: "ok",
  }),
  error: nullableText.openapi({
    description: "Why there was no response, or why the delivery expired; otherwise null.",
    example: null,
  }),
};

export const WebhookDeliverySchema = z.object({
  id: id.openapi({ description: "Event id, sent as `webhook-id`." }),
  event_name: EventNameSchema,
  resource_id: id.openapi({ description: "Id of the resource that changed." }),
  sequence: z.int().min(1).openapi({
    description: "Number of the event among the events of its resource: 1, 2, 3, …",
    example: 2,
  }),
  status: z.enum(DELIVERY_STATUSES).openapi("WebhookDeliveryStatus", {
    description: [
      "- `pending`: will be sent or retried at `next_attempt_at`",
      "- `delivered`: the endpoint returned 2xx",
      "- `failed`: not delivered and not retried: the last attempt failed, or the endpoint was " +
      "disabled for too long",
    ].join("\n"),
    example: "delivered",
  }),
  attempts: z.int().openapi({ description: "Number of attempts.", example: 1 }),
  next_attempt_at: nullableTime(
    "When the next attempt is due. An event waits for the first four attempts of earlier events " +
      "of the same resource.",
  ),
  last_attempt_at: timestamp("When the last attempt ended.").nullable(),
  ...attempt,
  duration_ms: z.int().nullable().openapi({
    description: "Duration of the last attempt in milliseconds.",
    example: 84,
  }),
  delivered_at: timestamp("When the endpoint returned 2xx.").nullable(),
  created_at: timestamp("When the event happened."),
}).openapi("WebhookDelivery", { description: "The delivery of one event to one endpoint." });

export const WebhookTestResultSchema = z.object({
  id: id.openapi({ description: "Id of the test event, sent as `webhook-id`." }),
  succeeded: z.boolean().openapi({
    description: "True if the endpoint returned 2xx.",
    example: true,
  }),
  ...attempt,
  duration_ms: z.int().openapi({ description: "Duration in milliseconds.", example: 84 }),
}).openapi("WebhookTestResult", { description: "Result of a test." });
