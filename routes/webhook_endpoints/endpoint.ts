/** `/webhook-endpoints/{id}/`: reads, changes and deletes one. */

import { createRoute, z } from "@hono/zod-openapi";
import type { WebhookDeps } from "../../core/webhooks/deps.ts";
import {
  deleteWebhookEndpoint,
  readWebhookEndpoint,
  updateWebhookEndpoint,
} from "../../core/webhooks/manage_endpoints.ts";
import { callerOf } from "../shared/request_context.ts";
import { OF_BODY, OF_CALLERS } from "../shared/codes.ts";
import { idOf } from "../shared/paths.ts";
import { problems } from "../shared/problem_responses.ts";
import type { Router } from "../shared/router.ts";
import { ENDPOINT_CHANGES, ENDPOINTS } from "./examples.ts";
import { WebhookEndpointChangesSchema } from "./input.ts";
import { endpointId } from "./path.ts";
import { WebhookEndpointSchema } from "./schemas.ts";

const about = {
  path: "/webhook-endpoints/{id}/" as const,
  tags: ["Webhooks"],
};

const params = z.object({ id: endpointId });

const theEndpoint = {
  description: "The endpoint",
  content: { "application/json": { schema: WebhookEndpointSchema, examples: ENDPOINTS } },
};

const readWebhookEndpointRoute = createRoute({
  ...about,
  method: "get",
  operationId: "getWebhookEndpoint",
  summary: "Get a webhook endpoint",
  description:
    "How an endpoint stands: what it is sent, whether it is enabled, and since when it fails. " +
    "Its secret is not shown; who has lost it takes a new one with `rotate-secret`. One that " +
    "was deleted is `not_found`. For staff; others get `forbidden`.",
  request: { params },
  responses: { 200: theEndpoint, ...problems("forbidden", "not_found", ...OF_CALLERS) },
});

const updateWebhookEndpointRoute = createRoute({
  ...about,
  method: "patch",
  operationId: "updateWebhookEndpoint",
  summary: "Update a webhook endpoint",
  description:
    "Changes what is given, and leaves the rest as it is. Events that happened before are sent " +
    "as they were to be sent, to the address it has now. Disabled, it gets nothing, and " +
    "everything waits; enabled again, it gets all of it. A `url` that is not `https://`, or " +
    "leads into a private network, is `validation_error`, unless the setting " +
    "`WEBHOOK_ALLOW_PRIVATE` says otherwise. For staff; others get `forbidden`.",
  request: {
    params,
    body: {
      required: true,
      content: {
        "application/json": { schema: WebhookEndpointChangesSchema, examples: ENDPOINT_CHANGES },
      },
    },
  },
  responses: {
    200: theEndpoint,
    ...problems(...OF_BODY, "forbidden", "not_found", ...OF_CALLERS),
  },
});

const deleteWebhookEndpointRoute = createRoute({
  ...about,
  method: "delete",
  operationId: "deleteWebhookEndpoint",
  summary: "Delete a webhook endpoint",
  description:
    "Nothing more is sent to it, and what was to be sent is forgotten; to have it wait " +
    "instead, disable the endpoint. One that was deleted before is `not_found`. For staff; " +
    "others get `forbidden`.",
  request: { params },
  responses: {
    204: { description: "It is deleted" },
    ...problems("forbidden", "not_found", ...OF_CALLERS),
  },
});

export function addEndpoint(router: Router, deps: WebhookDeps): void {
  router.openapi(readWebhookEndpointRoute, async (c) => {
    const id = idOf(c.req.valid("param").id);
    return c.json(await readWebhookEndpoint(deps, callerOf(c), id), 200);
  });
  router.openapi(updateWebhookEndpointRoute, async (c) => {
    const id = idOf(c.req.valid("param").id);
    const changes = c.req.valid("json");
    return c.json(await updateWebhookEndpoint(deps, callerOf(c), id, changes), 200);
  });
  router.openapi(deleteWebhookEndpointRoute, async (c) => {
    await deleteWebhookEndpoint(deps, callerOf(c), idOf(c.req.valid("param").id));
    return c.body(null, 204);
  });
}
