/** What an endpoint is made of and changed with. */

import { z } from "@hono/zod-openapi";
import { EVENT_NAMES } from "../schemas/event_name.ts";
import { flag, nullIsLeftOut, object, oneOf, text } from "../shared/fields.ts";

const url = text(2000).openapi({
  description: "`https://`, and on the public internet. Where the setting " +
    "`WEBHOOK_ALLOW_PRIVATE` says so, as when trying the service out, also `http://` and private " +
    "networks.",
  example: "https://shop.example/webhooks",
});

const event_names = z.array(oneOf(EVENT_NAMES), "must be a list")
  .min(1, "must name at least one event")
  .max(100, "must have at most 100 names")
  .transform((names) => [...new Set(names)]).openapi({
    description: "Only these are sent.",
    example: ["payment_settled", "payment_refunded"],
  });

const description = text(500).openapi({
  description: "Yours, for people.",
  example: "The shop's order system",
});

export const WebhookEndpointInputSchema = nullIsLeftOut(
  object({
    url,
    event_names: event_names.optional().openapi({
      description: "Only these are sent; every event where left out.",
    }),
    description: description.optional(),
    enabled: flag().optional().openapi({
      description: "`false` has everything wait until it is enabled.",
      default: true,
    }),
  }),
).openapi("WebhookEndpointRequest", { description: "An address to send events to." });

/** Here null means something: nothing, or every event. */
export const WebhookEndpointChangesSchema = object({
  url: url.optional(),
  event_names: event_names.nullable().optional().openapi({
    description: "Only these are sent from now on; null: every event.",
  }),
  description: description.nullable().optional(),
  enabled: flag().optional().openapi({
    description: "Once it is `true` again, all that waited is sent.",
  }),
}).openapi("WebhookEndpointUpdate", {
  description: "What is to change; what is left out stays as it is.",
});
