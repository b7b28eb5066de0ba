/** What endpoints are sent, for the document: each event by its name. */

import { z } from "@hono/zod-openapi";
import { TEST_EVENT_NAME } from "../../core/webhooks/event_names.ts";
import { EVENT_NAMES } from "../events/event_name.ts";
import {
  InvoiceEventSchema,
  PaymentEventSchema,
  SubscriptionEventSchema,
  WebhookEndpointEventSchema,
} from "../events/schemas.ts";
import type { Router } from "../router.ts";

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
  for (const name of [...EVENT_NAMES, TEST_EVENT_NAME]) {
    const schema = SCHEMAS.find(({ shape }) => shape.name.safeParse(name).success)!;
    openAPIRegistry.registerWebhook({
      method: "post",
      path: name,
      operationId: `on${pascalCase(name)}`,
      summary: name,
      description: name === TEST_EVENT_NAME
        ? "Somebody tests the endpoint."
        : "Sent to every endpoint that wants it, until it is answered with 2xx.",
      tags: ["Webhooks"],
      security: [],
      request: {
        headers,
        body: {
          required: true,
          content: { "application/json": { schema } },
        },
      },
      responses: {
        "2XX": { description: "Taken: it is not sent again." },
        410: { description: "The endpoint is no more: it is disabled." },
      },
    });
  }
}

function pascalCase(name: string): string {
  return name.replace(/(^|_)([a-z])/g, (_, _start, letter) => letter.toUpperCase());
}
