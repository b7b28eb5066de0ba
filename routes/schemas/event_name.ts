/** What can happen. */

import { z } from "@hono/zod-openapi";
import { INVOICE_EVENT_NAMES } from "../../core/invoices/states.ts";
import { PAYMENT_EVENT_NAMES } from "../../core/payments/states.ts";
import { SUBSCRIPTION_EVENT_NAMES } from "../../core/subscriptions/states.ts";
import { WEBHOOK_EVENT_NAMES } from "../../core/webhooks/event_names.ts";

export const EVENT_NAMES = [
  ...PAYMENT_EVENT_NAMES,
  ...INVOICE_EVENT_NAMES,
  ...SUBSCRIPTION_EVENT_NAMES,
  ...WEBHOOK_EVENT_NAMES,
] as const;

export const EventNameSchema = z.enum(EVENT_NAMES).openapi("EventName", {
  description: [
    "- `payment_received`: the gateway has taken it in; it waits for the customer, or for somebody " +
    "to look at it",
    "- `payment_settled`: paid, told once a payment",
    "- `payment_denied`, `payment_failed`: refused, by the bank or the gateway",
    "- `payment_cancelled`: taken back, before it was paid or, a card's, before it was settled",
    "- `payment_expired`: not paid in time",
    "- `payment_refunded`: money went back; each time that it was more",
    "- `invoice_created`, `invoice_paid`, `invoice_voided`",
    "- `subscription_created`, `subscription_disabled`, `subscription_cancelled`",
    "- `subscription_charged`: one cycle was paid, told once a cycle",
    "- `webhook_endpoint_disabled`: it answered 410, or everything failed for a day; for staff",
  ].join("\n"),
  example: "payment_settled",
});
