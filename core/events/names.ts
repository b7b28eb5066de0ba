/** The names of all events, by resource. They are stored and part of the API: never rename one. */

import { z } from "@hono/zod-openapi";

export const PAYMENT_EVENT_NAMES = [
  "payment_received",
  "payment_settled",
  "payment_denied",
  "payment_cancelled",
  "payment_expired",
  "payment_failed",
  "payment_refunded",
] as const;

export const INVOICE_EVENT_NAMES = ["invoice_created", "invoice_paid", "invoice_voided"] as const;

export const SUBSCRIPTION_EVENT_NAMES = [
  "subscription_created",
  "subscription_charged",
  "subscription_disabled",
  "subscription_cancelled",
] as const;

export const CHECKOUT_EVENT_NAMES = [
  "checkout_completed",
  "checkout_expired",
  "checkout_cancelled",
] as const;

export const WEBHOOK_EVENT_NAMES = ["webhook_endpoint_disabled"] as const;

export const ATTENTION_EVENT_NAMES = ["attention_raised", "attention_cleared"] as const;

export const EVENT_NAMES = [
  ...PAYMENT_EVENT_NAMES,
  ...INVOICE_EVENT_NAMES,
  ...SUBSCRIPTION_EVENT_NAMES,
  ...CHECKOUT_EVENT_NAMES,
  ...WEBHOOK_EVENT_NAMES,
  ...ATTENTION_EVENT_NAMES,
] as const;

/** Sent when staff test an endpoint; never stored. */
export const TEST_EVENT_NAME = "webhook_endpoint_tested";

export type PaymentEventName = (typeof PAYMENT_EVENT_NAMES)[number];
export type InvoiceEventName = (typeof INVOICE_EVENT_NAMES)[number];
export type SubscriptionEventName = (typeof SUBSCRIPTION_EVENT_NAMES)[number];
export type CheckoutEventName = (typeof CHECKOUT_EVENT_NAMES)[number];
export type WebhookEventName = (typeof WEBHOOK_EVENT_NAMES)[number];
export type AttentionEventName = (typeof ATTENTION_EVENT_NAMES)[number];

export type EventName =
  | PaymentEventName
  | InvoiceEventName
  | SubscriptionEventName
  | CheckoutEventName
  | WebhookEventName
  | AttentionEventName;

export const EventNameSchema = z.enum(EVENT_NAMES).openapi("EventName", {
  description: [
    "- `payment_received`: the gateway accepted the charge; the payment is pending, authorized or " +
    "under fraud review",
    "- `payment_settled`: the payment was paid; sent once per payment",
    "- `payment_denied`: the bank declined the payment",
    "- `payment_failed`: the gateway rejected the charge, or did not create it",
    "- `payment_cancelled`: cancelled before it was paid or, for a card, before settlement",
    "- `payment_expired`: not paid in time",
    "- `payment_refunded`: money was refunded or charged back; sent each time the amount grows",
    "- `invoice_created`, `invoice_paid`, `invoice_voided`",
    "- `subscription_created`, `subscription_disabled`, `subscription_cancelled`",
    "- `subscription_charged`: a billing cycle was paid; sent once per cycle",
    "- `checkout_completed`: the checkout was paid; sent once per checkout",
    "- `checkout_expired`: the checkout was not paid in time",
    "- `checkout_cancelled`: you cancelled the checkout",
    "- `webhook_endpoint_disabled`: the service disabled an endpoint that returned 410 or failed " +
    "for 24 hours; only staff and viewers receive it",
    "- `attention_raised`, `attention_cleared`: something needs the attention of staff, or no " +
    "longer does; sent once per cause, not per payment; only staff and viewers receive it",
  ].join("\n"),
  example: "payment_settled",
});
