/** Events as they are answered with. */

import { z } from "@hono/zod-openapi";
import { INVOICE_EVENT_NAMES } from "../../core/invoices/states.ts";
import { PAYMENT_EVENT_NAMES } from "../../core/payments/states.ts";
import { SUBSCRIPTION_EVENT_NAMES } from "../../core/subscriptions/states.ts";
import { InvoiceSchema } from "../invoices/schemas.ts";
import { PaymentSchema } from "../payments/schemas.ts";
import { id, timestamp } from "../representations.ts";
import { SubscriptionSchema } from "../subscriptions/schemas.ts";

export const EventNameSchema = z.enum([
  ...PAYMENT_EVENT_NAMES,
  ...INVOICE_EVENT_NAMES,
  ...SUBSCRIPTION_EVENT_NAMES,
]).openapi("EventName", {
  description: [
    "- `payment_received`: the gateway has taken it in; it waits for the customer, or for somebody " +
    "to look at it",
    "- `payment_settled`: paid, told once a payment",
    "- `payment_denied`, `payment_failed`: refused, by the bank or the gateway",
    "- `payment_cancelled`, `payment_expired`: ended before it was paid",
    "- `payment_refunded`: money went back; each time that it was more",
    "- `invoice_created`, `invoice_paid`, `invoice_voided`",
    "- `subscription_created`, `subscription_disabled`, `subscription_cancelled`",
    "- `subscription_charged`: one cycle was paid, told once a cycle",
  ].join("\n"),
  example: "payment_settled",
});

const notification_id = id.nullable().openapi({
  description: "The notification that caused it; null where a call or a task did.",
});

const event = { id, created_at: timestamp() };

const PaymentEventSchema = z.object({
  ...event,
  name: z.enum(PAYMENT_EVENT_NAMES),
  data: PaymentSchema.extend({ notification_id }).openapi("PaymentEventData", {
    description: "The payment as it was right after the change.",
  }),
}).openapi("PaymentEvent", { description: "One change of a payment, whoever caused it." });

const InvoiceEventSchema = z.object({
  ...event,
  name: z.enum(INVOICE_EVENT_NAMES).openapi({ example: "invoice_paid" }),
  data: InvoiceSchema.extend({ notification_id }).openapi("InvoiceEventData", {
    description: "The invoice as it was right after the change.",
  }),
}).openapi("InvoiceEvent", { description: "One change of an invoice, whoever caused it." });

const SubscriptionEventSchema = z.object({
  ...event,
  name: z.enum(SUBSCRIPTION_EVENT_NAMES).openapi({ example: "subscription_charged" }),
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

export const EventSchema = z.union([
  PaymentEventSchema,
  InvoiceEventSchema,
  SubscriptionEventSchema,
]).openapi("Event", { description: "One change, whoever caused it; `name` tells of what." });
