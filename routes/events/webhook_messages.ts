/** What endpoints are sent, for the document: each event by its name. */

import { z } from "@hono/zod-openapi";
import { TEST_EVENT_NAME } from "../../core/webhooks/event_names.ts";
import { EVENT_NAMES } from "../schemas/event_name.ts";
import { EVENTS } from "./examples.ts";
import {
  InvoiceEventSchema,
  PaymentEventSchema,
  SubscriptionEventSchema,
  WebhookEndpointEventSchema,
} from "./schemas.ts";
import type { Router } from "../shared/router.ts";

const headers = z.object({
  "webhook-id": z.string().openapi({
    description: "The event's id: the same when it is sent again.",
    example: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  }),
  "webhook-timestamp": z.string().openapi({
    description: "When it was sent, in seconds since 1970.",
    example: "1772683929",
  }),
  "webhook-signature": z.string().openapi({
    description: "By the endpoint's secret, as Standard Webhooks says: verify it with one of its " +
      "libraries, over the bytes that came.",
    example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  }),
});

/** By whom an event is told. */
const SCHEMAS = [
  PaymentEventSchema,
  InvoiceEventSchema,
  SubscriptionEventSchema,
  WebhookEndpointEventSchema,
];

export function describeMessages({ openAPIRegistry }: Router): void {
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
        "2XX": { description: "Taken: it is not sent again." },
        410: { description: "The endpoint is no more: it is disabled." },
      },
    });
  }
}

const ONCE = "It is sent once, to this endpoint alone.";
const REPEATED = "Sent to every endpoint that wants it, until it is answered with 2xx.";
const ADVICE =
  "Verify its signature before you believe it, and tell repeats apart by `webhook-id`.";

const WHEN: Record<typeof EVENT_NAMES[number] | typeof TEST_EVENT_NAME, string> = {
  payment_received: "The gateway has taken a payment in: it waits for the customer, or for " +
    "somebody to look at it.",
  payment_settled: "A payment was paid: deliver. Told once a payment.",
  payment_denied: "The bank refused a payment: ask the customer for another way to pay.",
  payment_cancelled: "A payment was cancelled before it was paid.",
  payment_expired: "A payment was not paid in time: free what was set aside for it.",
  payment_failed: "The gateway refused a charge: nothing was charged.",
  payment_refunded: "Money went back to the customer, be it by a chargeback. Told each time that " +
    "it was more; `data.refund_amount` is the sum of the refunds.",
  invoice_created: "An invoice was made, and can be paid at `data.payment_link_url`.",
  invoice_paid: "An invoice was paid; what was paid is a payment with its `invoice_id`.",
  invoice_voided: "An invoice was taken back.",
  subscription_created: "A subscription was made at the gateway.",
  subscription_charged: "A cycle of a subscription was paid, by the payment `data.payment_id`. " +
    "Told once a cycle.",
  subscription_disabled: "A subscription was paused.",
  subscription_cancelled: "A subscription was ended for good.",
  webhook_endpoint_disabled: "An endpoint answered 410, or everything sent to it failed for a " +
    "day: it gets nothing until it is enabled again.",
  webhook_endpoint_tested: "Somebody tests the endpoint.",
};

function pascalCase(name: string): string {
  return name.replace(/(^|_)([a-z])/g, (_, _start, letter) => letter.toUpperCase());
}
