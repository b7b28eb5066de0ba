/** The names of all events, by resource. They are stored and part of the API: never rename one. */

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

export const WEBHOOK_EVENT_NAMES = ["webhook_endpoint_disabled"] as const;

/** Sent when staff test an endpoint; never stored. */
export const TEST_EVENT_NAME = "webhook_endpoint_tested";

export type PaymentEventName = (typeof PAYMENT_EVENT_NAMES)[number];
export type InvoiceEventName = (typeof INVOICE_EVENT_NAMES)[number];
export type SubscriptionEventName = (typeof SUBSCRIPTION_EVENT_NAMES)[number];
export type WebhookEventName = (typeof WEBHOOK_EVENT_NAMES)[number];

export type EventName =
  | PaymentEventName
  | InvoiceEventName
  | SubscriptionEventName
  | WebhookEventName;
