/** Documents the webhook requests that endpoints receive, one for each event name. */

import { z } from "@hono/zod-openapi";
import { EVENT_NAMES, TEST_EVENT_NAME } from "../../core/events/names.ts";
import type { Router } from "../../http/router.ts";
import { EVENTS } from "./examples.ts";
import {
  AttentionEventSchema,
  CheckoutEventSchema,
  InvoiceEventSchema,
  PaymentEventSchema,
  SubscriptionEventSchema,
  WebhookEndpointEventSchema,
} from "./schemas.ts";

const headers = z.object({
  "webhook-id": z.string().openapi({
    description: "Event id. Retries have the same id.",
    example: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  }),
  "webhook-timestamp": z.string().openapi({
    description: "When the request was sent, in seconds since 1970.",
    example: "1772683929",
  }),
  "webhook-signature": z.string().openapi({
    description:
      "Signature with the endpoint's secret, according to Standard Webhooks. Verify it against " +
      "the raw body, with a Standard Webhooks library.",
    example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  }),
});

/** Each event name belongs to one of these schemas. */
const SCHEMAS = [
  PaymentEventSchema,
  InvoiceEventSchema,
  SubscriptionEventSchema,
  CheckoutEventSchema,
  WebhookEndpointEventSchema,
  AttentionEventSchema,
];

export function registerWebhookMessages({ openAPIRegistry }: Router): void {
  for (const name of [...EVENT_NAMES, TEST_EVENT_NAME] as const) {
    const schema = SCHEMAS.find(({ shape }) => shape.name.safeParse(name).success)!;
    openAPIRegistry.registerWebhook({
      method: "post",
      path: name,
      operationId: `on${pascalCase(name)}`,
      summary: name,
      description: `${WHEN[name]} ${name === TEST_EVENT_NAME ? ONCE : REPEATED} ${ADVICE}`,
      tags: ["Webhooks"],
      security: [],
      request: {
        headers,
        body: {
          required: true,
          content: { "application/json": { schema, examples: { [name]: EVENTS[name] } } },
        },
      },
      responses: {
        "2XX": { description: "Accepted. The event is not sent again." },
        410: { description: "The endpoint no longer exists. The service disables it." },
      },
    });
  }
}

const ONCE = "Sent once, only to this endpoint.";
const REPEATED =
  "Sent to every endpoint that receives this event, and retried for three days until the " +
  "endpoint responds with 2xx.";
const ADVICE = "Verify the signature first, and use `webhook-id` to deduplicate.";

const WHEN: Record<typeof EVENT_NAMES[number] | typeof TEST_EVENT_NAME, string> = {
  payment_received:
    "The gateway accepted a charge. The payment is pending, authorized or under fraud review.",
  payment_settled: "A payment was paid; safe to ship. Happens once per payment.",
  payment_denied: "The bank declined a payment. Ask the customer for another payment method.",
  payment_cancelled: "A payment was cancelled before it was paid or, for a card, before " +
    "settlement.",
  payment_expired: "A payment was not paid in time. Release the stock that you reserved for it.",
  payment_failed: "The gateway rejected a charge, or did not create it. Nothing was charged.",
  payment_refunded:
    "Money was returned to the customer, by a refund or a chargeback. Happens each " +
    "time the amount grows; `data.refund_amount` is the total refunded amount.",
  invoice_created: "An invoice was created. The customer can pay at `data.payment_link_url`.",
  invoice_paid: "An invoice was paid. `invoice_id` of the payment is the id of the invoice.",
  invoice_voided: "An invoice was voided.",
  subscription_created: "A subscription was created at the gateway.",
  subscription_charged: "A billing cycle of a subscription was paid by the payment " +
    "`data.payment_id`. Happens once per cycle.",
  subscription_disabled: "A subscription was paused.",
  subscription_cancelled: "A subscription was cancelled permanently.",
  checkout_completed:
    "A checkout was paid by the payment `data.payment_id`; safe to ship, unless " +
    "`data.is_late` is true and you have given the goods to someone else. Happens once per checkout.",
  checkout_expired: "A checkout was not paid in time. Release the stock that you reserved for it.",
  checkout_cancelled: "You cancelled a checkout.",
  webhook_endpoint_disabled:
    "An endpoint returned 410, or every delivery failed for 24 hours. Its " +
    "deliveries wait until it is enabled again.",
  attention_raised: "Something needs the attention of staff, such as notifications that do not " +
    "arrive. Happens once per cause, until it is cleared.",
  attention_cleared: "The problem of an earlier `attention_raised` is over.",
  webhook_endpoint_tested: "The endpoint is being tested.",
};

function pascalCase(name: string): string {
  return name.replace(/(^|_)([a-z])/g, (_, _start, letter) => letter.toUpperCase());
}
