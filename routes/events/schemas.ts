/** Events as they are answered with. */

import { z } from "@hono/zod-openapi";
import { INVOICE_EVENT_NAMES } from "../../core/invoices/states.ts";
import { PAYMENT_EVENT_NAMES } from "../../core/payments/states.ts";
import { SUBSCRIPTION_EVENT_NAMES } from "../../core/subscriptions/states.ts";
import { TEST_EVENT_NAME, WEBHOOK_EVENT_NAMES } from "../../core/webhooks/event_names.ts";
import { InvoiceSchema } from "../schemas/invoice.ts";
import { PaymentSchema } from "../schemas/payment.ts";
import { id, timestamp } from "../schemas/common.ts";
import { SubscriptionSchema } from "../schemas/subscription.ts";
import { WebhookEndpointSchema } from "../webhook_endpoints/schemas.ts";

const WHAT = "What happened.";

const notification_id = id.nullable().openapi({
  description: "The notification that caused it; null where a call or a task did.",
});

const event = {
  id: id.openapi({ description: "Its id: the same however often it is told." }),
  created_at: timestamp("When it happened."),
};

export const PaymentEventSchema = z.object({
  ...event,
  name: z.enum(PAYMENT_EVENT_NAMES).openapi({
    description: WHAT,
    example: "payment_settled",
  }),
  data: PaymentSchema.extend({ notification_id }).openapi("PaymentEventData", {
    description: "The payment as it was right after the change.",
  }),
}).openapi("PaymentEvent", { description: "One change of a payment, whoever caused it." });

export const InvoiceEventSchema = z.object({
  ...event,
  name: z.enum(INVOICE_EVENT_NAMES).openapi({ description: WHAT, example: "invoice_paid" }),
  data: InvoiceSchema.extend({ notification_id }).openapi("InvoiceEventData", {
    description: "The invoice as it was right after the change.",
  }),
}).openapi("InvoiceEvent", { description: "One change of an invoice, whoever caused it." });

export const SubscriptionEventSchema = z.object({
  ...event,
  name: z.enum(SUBSCRIPTION_EVENT_NAMES).openapi({
    description: WHAT,
    example: "subscription_charged",
  }),
  data: SubscriptionSchema.extend({
    notification_id,
    payment_id: id.optional().openapi({
      description: "With `subscription_charged`: the payment that was made.",
    }),
  }).openapi("SubscriptionEventData", {
    description: "The subscription as it was right after the change.",
  }),
}).openapi("SubscriptionEvent", {
  description: "One change of a subscription, whoever caused it.",
});

export const WebhookEndpointEventSchema = z.object({
  ...event,
  name: z.enum([...WEBHOOK_EVENT_NAMES, TEST_EVENT_NAME]).openapi({
    description: WHAT,
    example: "webhook_endpoint_disabled",
  }),
  data: WebhookEndpointSchema.extend({ notification_id }).openapi("WebhookEndpointEventData", {
    description: "The endpoint as it was right after the change.",
  }),
}).openapi("WebhookEndpointEvent", {
  description: "One change of a webhook endpoint that nobody asked for.",
});

export const EventSchema = z.union([
  PaymentEventSchema,
  InvoiceEventSchema,
  SubscriptionEventSchema,
  WebhookEndpointEventSchema,
]).openapi("Event", { description: "One change, whoever caused it; `name` tells of what." });
