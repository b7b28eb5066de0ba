/** Response schemas of events. */

import { z } from "@hono/zod-openapi";
import { AttentionSchema } from "../../core/events/attention.ts";
import {
  ATTENTION_EVENT_NAMES,
  CHECKOUT_EVENT_NAMES,
  INVOICE_EVENT_NAMES,
  PAYMENT_EVENT_NAMES,
  SUBSCRIPTION_EVENT_NAMES,
  TEST_EVENT_NAME,
  WEBHOOK_EVENT_NAMES,
} from "../../core/events/names.ts";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { id, timestamp } from "../../core/fields/response.ts";
import { InvoiceSchema } from "../../core/invoices/schema.ts";
import { CheckoutSchema } from "../../core/checkouts/schema.ts";
import { SubscriptionSchema } from "../../core/subscriptions/schema.ts";
import { WebhookEndpointSchema } from "../webhook_endpoints/schemas.ts";

const NAME = "Event name.";

const notification_id = id.nullable().openapi({
  description: "Notification that caused the event; null if an API call or a background task did.",
});

const event = {
  id: id.openapi({ description: "Event id. Repeated deliveries have the same id." }),
  created_at: timestamp("When the event happened."),
};

const sequence = z.int().min(1).openapi({
  description:
    "Number of the event among the events of its resource: 1, 2, 3, … Numbers can be missing " +
    "after the service's database was restored from a backup. Webhooks can arrive out of order: " +
    "if you have already processed an event of the same resource with a higher `sequence`, " +
    "ignore the state in this one.",
  example: 2,
});

export const PaymentEventSchema = z.object({
  ...event,
  name: z.enum(PAYMENT_EVENT_NAMES).openapi({
    description: NAME,
    example: "payment_settled",
  }),
  sequence,
  data: z.object({ ...PaymentSchema.shape, notification_id }).openapi("PaymentEventData", {
    description: "The payment right after the change.",
  }),
}).openapi("PaymentEvent", { description: "A change to a payment." });

export const InvoiceEventSchema = z.object({
  ...event,
  name: z.enum(INVOICE_EVENT_NAMES).openapi({ description: NAME, example: "invoice_paid" }),
  sequence,
  data: z.object({ ...InvoiceSchema.shape, notification_id }).openapi("InvoiceEventData", {
    description: "The invoice right after the change.",
  }),
}).openapi("InvoiceEvent", { description: "A change to an invoice." });

export const SubscriptionEventSchema = z.object({
  ...event,
  name: z.enum(SUBSCRIPTION_EVENT_NAMES).openapi({
    description: NAME,
    example: "subscription_charged",
  }),
  sequence,
  data: z.object({
    ...SubscriptionSchema.shape,
    notification_id,
    payment_id: id.optional().openapi({
      description: "With `subscription_charged`: the payment of the cycle.",
    }),
  }).openapi("SubscriptionEventData", {
    description: "The subscription right after the change.",
  }),
}).openapi("SubscriptionEvent", {
  description: "A change to a subscription.",
});

export const CheckoutEventSchema = z.object({
  ...event,
  name: z.enum(CHECKOUT_EVENT_NAMES).openapi({ description: NAME, example: "checkout_completed" }),
  sequence,
  data: z.object({ ...CheckoutSchema.shape, notification_id }).openapi("CheckoutEventData", {
    description: "The checkout right after the change.",
  }),
}).openapi("CheckoutEvent", { description: "A change to a checkout." });

export const WebhookEndpointEventSchema = z.object({
  ...event,
  name: z.enum([...WEBHOOK_EVENT_NAMES, TEST_EVENT_NAME]).openapi({
    description: NAME,
    example: "webhook_endpoint_disabled",
  }),
  sequence: z.int().min(0).openapi({
    description:
      "Number of the event among the events of the endpoint, beginning with 1; 0 in a test event.",
    example: 1,
  }),
  data: z.object({ ...WebhookEndpointSchema.shape, notification_id }).openapi(
    "WebhookEndpointEventData",
    {
      description: "The endpoint right after the change.",
    },
  ),
}).openapi("WebhookEndpointEvent", {
  description: "A webhook endpoint was disabled by the service, or tested.",
});

export const AttentionEventSchema = z.object({
  ...event,
  name: z.enum(ATTENTION_EVENT_NAMES).openapi({ description: NAME, example: "attention_raised" }),
  sequence: z.int().min(1).openapi({
    description: "Number of the event among the events of its cause: 1, 2, 3, …",
    example: 1,
  }),
  data: z.object({ ...AttentionSchema.shape, notification_id }).openapi("AttentionEventData", {
    description: "The cause.",
  }),
}).openapi("AttentionEvent", {
  description: "Something needs the attention of staff, or no longer does.",
});

export const EventSchema = z.union([
  PaymentEventSchema,
  InvoiceEventSchema,
  SubscriptionEventSchema,
  CheckoutEventSchema,
  WebhookEndpointEventSchema,
  AttentionEventSchema,
]).openapi("Event", { description: "A change to a resource. `name` says what changed." });
