/** Response schemas of timelines. */

import { z } from "@hono/zod-openapi";
import { NOTIFICATION_STATUSES } from "../../core/notifications/read.ts";
import { RefundDetailsSchema } from "../../core/payments/schema.ts";
import { id, nullableText, timestamp } from "../../core/fields/response.ts";
import { DELIVERY_STATUSES } from "../../core/webhooks/deliveries.ts";
import { EventNameSchema } from "../../core/events/names.ts";

const nullableId = (description: string, example: string | null) =>
  z.uuid().nullable().openapi({ description, example });

export const TimelineTransitionSchema = z.object({
  from_status: nullableText.openapi({
    description: "Status before the transition; null if the record was created by it.",
    example: "pending",
  }),
  to_status: z.string().openapi({
    description: "Status after the transition.",
    example: "settlement",
  }),
  fraud_status: nullableText.openapi({
    description: "Payments only: the fraud status after the transition.",
    example: "accept",
  }),
  source: z.string().openapi({
    description: "What caused it: `notification`, an action such as `charge` or `cancel`, or a " +
      "task such as `check_payment_status`.",
    example: "notification",
  }),
  actor: nullableText.openapi({
    description: "Who caused it, for staff and viewers: `api_key:<prefix>`, `jwt:<subject>`, " +
      "`task:<name>`, `notification:<id>`, or `notification` if the id is not known. Null for " +
      "other callers.",
    example: "notification:0197a3c5-90e4-7f28-8b6a-3d1c5e7f9a02",
  }),
  actor_name: nullableText.openapi({
    description: "The name of a caller who caused it, for staff and viewers: the name of the API " +
      "key (its user if it has no name), or the subject of the JWT. Null for other actors.",
    example: null,
  }),
}).openapi("TimelineTransition", { description: "A change of the status." });

export const TimelineNotificationSchema = z.object({
  id,
  transaction_status: z.string().openapi({
    description: "The status that the gateway reported.",
    example: "settlement",
  }),
  status: z.enum(NOTIFICATION_STATUSES).openapi({
    description: "Its result, as in `GET /notifications/`.",
    example: "processed",
  }),
  error_message: nullableText.openapi({
    description: "Why it was not applied, for staff and viewers.",
    example: null,
  }),
}).openapi("TimelineNotification", {
  description: "A notification from the gateway, and its result.",
});

const nullableTime = (description: string, example: string | null) =>
  timestamp(description).nullable().openapi({ example });

export const TimelineDeliverySchema = z.object({
  endpoint_id: nullableId(
    "The webhook endpoint, for staff and viewers.",
    "0197a3b0-4c1d-7e52-9b3a-6f8d0c2e4a71",
  ),
  endpoint_host: nullableText.openapi({
    description: "The host of the endpoint's address, for staff and viewers.",
    example: "shop.example",
  }),
  status: z.enum(DELIVERY_STATUSES).openapi({
    description: "State of the delivery.",
    example: "delivered",
  }),
  attempts: z.int().openapi({ description: "Number of attempts so far.", example: 1 }),
  status_code: z.int().nullable().openapi({
    description: "HTTP status of the last response, for staff and viewers.",
    example: 200,
  }),
  error: nullableText.openapi({
    description: "Why there was no response, or why the delivery expired; for staff and viewers.",
    example: null,
  }),
  last_attempt_at: nullableTime("When the last attempt ended.", "2026-03-05T04:15:41.120Z"),
  next_attempt_at: nullableTime("When it is sent next.", null),
  delivered_at: nullableTime("When it was delivered.", "2026-03-05T04:15:41.120Z"),
}).openapi("TimelineDelivery", { description: "The delivery of an event to a webhook endpoint." });

export const TimelineEventSchema = z.object({
  id,
  name: EventNameSchema,
  sequence: z.int().openapi({
    description: "Number of the event among those of its resource.",
    example: 2,
  }),
  deliveries: z.array(TimelineDeliverySchema).openapi({
    description: "Deliveries to webhook endpoints.",
  }),
}).openapi("TimelineEvent", { description: "An event, and its deliveries." });

export const TimelineEntrySchema = z.object({
  at: timestamp("When it happened."),
  type: z.enum(["transition", "refund", "notification", "event"]).openapi({
    description: "What the entry is. The member with this name has the details; the other three " +
      "are null.",
    example: "transition",
  }),
  payment_id: nullableId(
    "The payment that the entry is about; null if it is about the invoice, subscription or checkout itself, " +
      "or if a notification matched no payment.",
    "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  ),
  transition: z.union([TimelineTransitionSchema, z.null()]).openapi({
    description: "Details of a transition.",
  }),
  refund: z.union([RefundDetailsSchema, z.null()]).openapi({
    description: "Details of a refund, with its current status. `at` is when it was created.",
  }),
  notification: z.union([TimelineNotificationSchema, z.null()]).openapi({
    description: "Details of a notification.",
  }),
  event: z.union([TimelineEventSchema, z.null()]).openapi({ description: "Details of an event." }),
}).openapi("TimelineEntry", { description: "One thing that happened." });

export const TimelineSchema = z.object({
  resource: z.enum(["payment", "invoice", "subscription", "checkout"]).openapi({
    description: "Kind of resource.",
    example: "payment",
  }),
  id,
  is_complete: z.boolean().openapi({
    description:
      "False if the oldest entries are left out: a timeline has at most 500 entries of " +
      "each type, and at most 100 payments of an invoice or subscription.",
    example: true,
  }),
  entries: z.array(TimelineEntrySchema).openapi({ description: "Oldest first." }),
}).openapi("Timeline", {
  description: "What happened to a payment, an invoice or a subscription, in order.",
});
