/** Request schemas of webhook endpoints. */

import { z } from "@hono/zod-openapi";
import { flag, object, omitNulls, oneOf, optionalText, text } from "../fields/input.ts";
import { EVENT_NAMES } from "../events/names.ts";

const url = text(2000).openapi({
  format: "uri",
  description: "A public `https://` URL. `http://` URLs and private networks are accepted only " +
    "if the setting `WEBHOOK_ALLOW_PRIVATE` is `true`, as in development.",
  example: "https://shop.example/webhooks",
});

const event_names = z.array(oneOf(EVENT_NAMES), "must be an array")
  .min(1, "must name at least one event")
  .max(100, "must have at most 100 names")
  .transform((names) => [...new Set(names)]).openapi({
    description: "Send only these events.",
    example: ["payment_settled", "payment_refunded"],
  });

const DESCRIPTION = {
  description: "Your own description of the endpoint.",
  example: "The shop's order system",
};

export const WebhookEndpointInputSchema = omitNulls(
  object({
    url,
    event_names: event_names.optional().openapi({
      description: "Send only these events. Defaults to every event.",
    }),
    description: optionalText(500).openapi(DESCRIPTION),
    enabled: flag().optional().openapi({
      description: "`false`: create the endpoint disabled. Its deliveries wait until you " +
        "enable it.",
      default: true,
    }),
  }),
).openapi("WebhookEndpointRequest", { description: "A webhook endpoint to create." });

/** Unlike in other requests, null has a meaning here: no description, or every event. */
export const WebhookEndpointChangesSchema = object({
  url: url.optional(),
  event_names: event_names.nullable().optional().openapi({
    description: "Send only these events from now on; null: every event.",
  }),
  description: text(500).openapi(DESCRIPTION).nullable().optional(),
  enabled: flag().optional().openapi({
    description:
      "`true`: enable the endpoint and send the waiting deliveries. `false`: disable the " +
      "endpoint; its deliveries wait.",
  }),
}).openapi("WebhookEndpointUpdate", {
  description: "The fields to change. Omitted fields stay as they are.",
});
