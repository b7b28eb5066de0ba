/** Example events, one for each name. */

import type { z } from "@hono/zod-openapi";
import type { Example } from "../../core/fields/response.ts";
import { CHECKOUTS } from "../checkouts/examples.ts";
import { INVOICES } from "../invoices/examples.ts";
import type { EVENT_NAMES } from "../../core/events/names.ts";
import { CHARGED, PAYMENTS } from "../../core/payments/examples.ts";
import { SUBSCRIPTIONS } from "../subscriptions/examples.ts";
import { ENDPOINTS } from "../webhook_endpoints/examples.ts";
import type {
  AttentionEventSchema,
  CheckoutEventSchema,
  EventSchema,
  InvoiceEventSchema,
  PaymentEventSchema,
  SubscriptionEventSchema,
  WebhookEndpointEventSchema,
} from "./schemas.ts";

type Event = z.output<typeof EventSchema>;

/** Sequence numbers other than 2. By default, an example is the second event of its resource. */
const SEQUENCES: Record<string, number> = {
  payment_received: 1,
  payment_denied: 1,
  payment_failed: 1,
  payment_refunded: 3,
  invoice_created: 1,
  checkout_completed: 1,
  checkout_expired: 1,
  checkout_cancelled: 1,
  subscription_created: 1,
  webhook_endpoint_disabled: 1,
  webhook_endpoint_tested: 0,
  attention_raised: 1,
};

const NOTIFICATION = "0197a3c5-90e4-7f28-8b6a-3d1c5e7f9a02";

const PAYMENT_EVENTS = {
  payment_received: {
    summary: "Virtual account, pending",
    value: payment("payment_received", CHARGED.pending_virtual_account, null),
  },
  payment_settled: {
    summary: "Virtual account, paid",
    value: payment("payment_settled", PAYMENTS.paid_virtual_account),
  },
  payment_denied: {
    summary: "Card, declined by the bank",
    value: payment("payment_denied", CHARGED.denied_card, null),
  },
  payment_cancelled: {
    summary: "Virtual account, cancelled",
    value: payment("payment_cancelled", PAYMENTS.cancelled_virtual_account, null),
  },
  payment_expired: {
    summary: "Virtual account, expired",
    value: payment("payment_expired", PAYMENTS.expired_virtual_account),
  },
  payment_failed: {
    summary: "Charge rejected by the gateway",
    value: payment("payment_failed", PAYMENTS.failed_qris, null),
  },
  payment_refunded: {
    summary: "Partial refund",
    value: payment("payment_refunded", PAYMENTS.partly_refunded_gopay, null),
  },
};

const INVOICE_EVENTS = {
  invoice_created: {
    summary: "Invoice created",
    value: invoice("invoice_created", INVOICES.sent_invoice, null),
  },
  invoice_paid: {
    summary: "Invoice paid",
    value: invoice("invoice_paid", INVOICES.paid_invoice),
  },
  invoice_voided: {
    summary: "Invoice voided",
    value: invoice("invoice_voided", INVOICES.voided_invoice, null),
  },
};

const SUBSCRIPTION_EVENTS = {
  subscription_created: {
    summary: "Subscription created",
    value: subscription("subscription_created", SUBSCRIPTIONS.active_subscription),
  },
  subscription_charged: {
    summary: "Billing cycle paid",
    value: subscription("subscription_charged", SUBSCRIPTIONS.charged_subscription, {
      notification_id: NOTIFICATION,
      payment_id: CHARGED.paid_card.value.id,
    }),
  },
  subscription_disabled: {
    summary: "Subscription disabled",
    value: subscription("subscription_disabled", SUBSCRIPTIONS.disabled_subscription),
  },
  subscription_cancelled: {
    summary: "Subscription cancelled",
    value: subscription("subscription_cancelled", SUBSCRIPTIONS.cancelled_subscription),
  },
};

const CHECKOUT_EVENTS = {
  checkout_completed: {
    summary: "Checkout paid",
    value: checkout("checkout_completed", CHECKOUTS.paid_checkout),
  },
  checkout_expired: {
    summary: "Checkout not paid in time",
    value: checkout("checkout_expired", CHECKOUTS.expired_checkout),
  },
  checkout_cancelled: {
    summary: "Checkout cancelled",
    value: checkout("checkout_cancelled", CHECKOUTS.cancelled_checkout),
  },
};

const ENDPOINT_EVENTS = {
  webhook_endpoint_disabled: {
    summary: "Disabled after 24 hours of failures",
    value: endpoint("webhook_endpoint_disabled", ENDPOINTS.disabled_endpoint),
  },
  webhook_endpoint_tested: {
    summary: "Test event",
    value: endpoint("webhook_endpoint_tested", ENDPOINTS.enabled_endpoint),
  },
};

const ATTENTION_EVENTS = {
  attention_raised: {
    summary: "Notifications do not arrive",
    value: attention("attention_raised", null),
  },
  attention_cleared: {
    summary: "Notifications arrive again",
    value: attention("attention_cleared", "2026-03-05T04:12:09.000Z"),
  },
};

export const EVENTS = {
  ...PAYMENT_EVENTS,
  ...INVOICE_EVENTS,
  ...SUBSCRIPTION_EVENTS,
  ...CHECKOUT_EVENTS,
  ...ENDPOINT_EVENTS,
  ...ATTENTION_EVENTS,
} satisfies Record<typeof EVENT_NAMES[number] | "webhook_endpoint_tested", Example<Event>>;

export const EVENT_PAGE = {
  page: {
    summary: "Two events, newest first",
    value: [EVENTS.payment_settled.value, EVENTS.payment_received.value] satisfies Event[],
  },
};

/** `notification_id`: the notification that caused the event; null if an API call did. */
function payment(
  name: z.output<typeof PaymentEventSchema>["name"],
  { value }: typeof CHARGED.pending_virtual_account,
  notification_id: string | null = NOTIFICATION,
): z.output<typeof PaymentEventSchema> {
  return { ...eventFields(name, value), name, data: { ...value, notification_id } };
}

function invoice(
  name: z.output<typeof InvoiceEventSchema>["name"],
  { value }: typeof INVOICES.sent_invoice,
  notification_id: string | null = NOTIFICATION,
): z.output<typeof InvoiceEventSchema> {
  return { ...eventFields(name, value), name, data: { ...value, notification_id } };
}

function subscription(
  name: z.output<typeof SubscriptionEventSchema>["name"],
  { value }: typeof SUBSCRIPTIONS.active_subscription,
  more: { notification_id: string | null; payment_id?: string } = { notification_id: null },
): z.output<typeof SubscriptionEventSchema> {
  return { ...eventFields(name, value), name, data: { ...value, ...more } };
}

/** An event has neither the link nor the payment. */
function checkout(
  name: z.output<typeof CheckoutEventSchema>["name"],
  { value }: typeof CHECKOUTS.open_checkout,
): z.output<typeof CheckoutEventSchema> {
  const data = { ...value, checkout_url: null, payment: null, notification_id: null };
  return { ...eventFields(name, value), name, data };
}

function endpoint(
  name: z.output<typeof WebhookEndpointEventSchema>["name"],
  { value }: typeof ENDPOINTS.enabled_endpoint,
): z.output<typeof WebhookEndpointEventSchema> {
  return { ...eventFields(name, value), name, data: { ...value, notification_id: null } };
}

function attention(
  name: z.output<typeof AttentionEventSchema>["name"],
  cleared_at: string | null,
): z.output<typeof AttentionEventSchema> {
  const is_raised = cleared_at === null;
  const data = {
    id: "0197a3b0-11d4-7c05-9a3e-6f2b8d4c7e19",
    cause: "notifications_missing" as const,
    is_raised,
    title: "Notifications of the gateway do not arrive",
    next_step: "Run `deno task doctor` or open the page Doctor of the console: it names the cause.",
    count: is_raised ? 12 : 0,
    since: "2026-03-05T03:20:41.000Z",
    cleared_at,
    console_url: "https://pay.shop.example/console/doctor/",
    notification_id: null,
  };
  return {
    ...eventFields(name, { updated_at: cleared_at ?? "2026-03-05T03:31:00.000Z" }),
    name,
    data,
  };
}

function eventFields(name: string, { updated_at }: { updated_at: string }) {
  return {
    id: "0197a3c5-90e4-7a77-9c02-5b8d1f3e6a94",
    sequence: SEQUENCES[name] ?? 2,
    created_at: updated_at,
  };
}
