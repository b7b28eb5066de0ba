/** `POST /webhook-endpoints/`: has events sent to an address. */

import { createRoute } from "@hono/zod-openapi";
import type { WebhookDeps } from "../../core/webhooks/deps.ts";
import { createWebhookEndpoint } from "../../core/webhooks/manage_endpoints.ts";
import { basePathOf, callerOf } from "../shared/request_context.ts";
import { OF_BODY, OF_CALLERS } from "../shared/codes.ts";
import { locationHeader } from "../shared/location.ts";
import { problems } from "../shared/problem_responses.ts";
import type { Router } from "../shared/router.ts";
import { ENDPOINT_REQUESTS, ENDPOINTS_WITH_SECRETS } from "./examples.ts";
import { WebhookEndpointInputSchema } from "./input.ts";
import { WebhookEndpointWithSecretSchema } from "./schemas.ts";

const path = "/webhook-endpoints/";

const createWebhookEndpointRoute = createRoute({
  method: "post",
  path,
  operationId: "createWebhookEndpoint",
  summary: "Create a webhook endpoint",
  description:
    "From now on every event, or those that it names, is sent there by POST, signed as " +
    "Standard Webhooks says: `webhook-id` (the event's id: by it you tell repeats apart), " +
    "`webhook-timestamp` and `webhook-signature`. Answer with 2xx within 15 seconds. What " +
    "fails is tried again nine times over three days; what is about the same resource comes in " +
    "its order.\n\n" +
    "The answer shows the endpoint's secret, this once: keep it where your receiver finds it. " +
    "A `url` that is not `https://`, or leads into a private network, is `validation_error`, unless " +
    "the setting `WEBHOOK_ALLOW_PRIVATE` says otherwise. For staff; others get `forbidden`.",
  tags: ["Webhooks"],
  request: {
    body: {
      required: true,
      content: {
        "application/json": { schema: WebhookEndpointInputSchema, examples: ENDPOINT_REQUESTS },
      },
    },
  },
  responses: {
    201: {
      description: "The endpoint, with its secret",
      headers: locationHeader("endpoint", path),
      content: {
        "application/json": {
          schema: WebhookEndpointWithSecretSchema,
          examples: { created: ENDPOINTS_WITH_SECRETS.created },
        },
      },
    },
    ...problems(...OF_BODY, "forbidden", ...OF_CALLERS),
  },
});

export function addCreate(router: Router, deps: WebhookDeps): void {
  router.openapi(createWebhookEndpointRoute, async (c) => {
    const { url, event_names = null, description = null, enabled = true } = c.req.valid("json");
    const input = { url, event_names, description, enabled };
    const endpoint = await createWebhookEndpoint(deps, callerOf(c), input);
    const Location = `${basePathOf(c, path)}${path}${endpoint.id}/`;
    return c.json(endpoint, 201, { Location, ...NOT_STORED });
  });
}

/** An answer with a secret. */
const NOT_STORED = { "Cache-Control": "no-store" };
