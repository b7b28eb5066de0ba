/** `/webhook-endpoints/`: lists, creates, reads, updates and deletes endpoints. */

import { createRoute, z } from "@hono/zod-openapi";
import type { Service } from "../../core/service.ts";
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  listWebhookEndpoints,
  readWebhookEndpoint,
  updateWebhookEndpoint,
} from "../../core/webhooks/endpoints.ts";
import {
  IdempotencyHeaders,
  REPLAY_HEADER,
  replayHeader,
  requestKeyOf,
} from "../../http/idempotency.ts";
import { keepReply } from "../../http/keep_reply.ts";
import { linkHeader, NEXT_PAGE, paging } from "../../http/lists/page.ts";
import { basePathOf, locationHeader, parsePathId } from "../../http/paths.ts";
import {
  COMMON_ERRORS,
  EMPTY_BODY_ERRORS,
  KEY_ERRORS,
  KEYED_BODY_ERRORS,
  problems,
} from "../../http/problems/responses.ts";
import { callerOf, type Router } from "../../http/router.ts";
import {
  CHANGED_ENDPOINTS,
  ENDPOINT_CHANGES,
  ENDPOINT_PAGE,
  ENDPOINT_REQUESTS,
  ENDPOINTS,
  ENDPOINTS_WITH_SECRETS,
} from "./examples.ts";
import {
  WebhookEndpointChangesSchema,
  WebhookEndpointInputSchema,
} from "../../core/webhooks/endpoint_input.ts";
import { endpointId, WebhookEndpointSchema, WebhookEndpointWithSecretSchema } from "./schemas.ts";

const path = "/webhook-endpoints/";

const endpointRoute = { path: "/webhook-endpoints/{pk}/" as const, tags: ["Webhooks"] };

const params = z.object({ pk: endpointId });

const endpointResponse = {
  description: "The endpoint",
  content: { "application/json": { schema: WebhookEndpointSchema, examples: ENDPOINTS } },
};

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listWebhookEndpoints",
  summary: "List webhook endpoints",
  description:
    "Returns the endpoints, newest first, without their secrets. `disabled_reason` says why an " +
    "endpoint is disabled. An endpoint with `failing_since` is failing: the service disables it " +
    "after 24 hours of failures. Follow `Link` until it is absent. Staff and viewers only; other callers " +
    "get `forbidden`.",
  tags: ["Webhooks"],
  request: { query: z.object(paging) },
  responses: {
    200: {
      description: "A page of endpoints",
      headers: NEXT_PAGE,
      content: {
        "application/json": { schema: z.array(WebhookEndpointSchema), examples: ENDPOINT_PAGE },
      },
    },
    ...problems("forbidden", ...COMMON_ERRORS),
  },
});

const createWebhookEndpointRoute = createRoute({
  method: "post",
  path,
  operationId: "createWebhookEndpoint",
  summary: "Create a webhook endpoint",
  description:
    "Creates an endpoint. From then on the service sends every event, or only those in " +
    "`event_names`, to `url` by POST. Requests are signed according to Standard Webhooks, with " +
    "the headers `webhook-id` (the event id, use it to deduplicate), `webhook-timestamp` and " +
    "`webhook-signature`. Respond with 2xx within 15 seconds. Failed deliveries are retried " +
    "nine times over three days. Events of the same resource are sent in order, but an event waits " +
    "only for the first four attempts of an earlier one (35 to 40 minutes): order them by " +
    "`sequence`.\n\n" +
    "The response contains the endpoint's secret. It is shown only once: store it where your " +
    "receiver can read it. If the response is lost, the same request with the same " +
    "`Idempotency-Key` returns it again. If `url` is not `https://`, or points to a private network, the " +
    "error is `validation_error`, unless the setting `WEBHOOK_ALLOW_PRIVATE` is `true`. Staff " +
    "only; other callers get `forbidden`.",
  tags: ["Webhooks"],
  request: {
    headers: IdempotencyHeaders,
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
      headers: { ...locationHeader("endpoint", path), ...REPLAY_HEADER },
      content: {
        "application/json": {
          schema: WebhookEndpointWithSecretSchema,
          examples: {
            every_event: ENDPOINTS_WITH_SECRETS.every_event,
            some_events: ENDPOINTS_WITH_SECRETS.some_events,
          },
        },
      },
    },
    ...problems(...KEYED_BODY_ERRORS, "forbidden", ...COMMON_ERRORS),
  },
});

const readWebhookEndpointRoute = createRoute({
  ...endpointRoute,
  method: "get",
  operationId: "getWebhookEndpoint",
  summary: "Get a webhook endpoint",
  description:
    "Returns an endpoint: which events it receives, whether it is enabled, and since when its " +
    "deliveries have been failing. The secret is not included; if you have lost it, use " +
    "`rotate-secret`. For a deleted endpoint, the error is `not_found`. Staff and viewers only; other " +
    "callers get `forbidden`.",
  request: { params },
  responses: { 200: endpointResponse, ...problems("forbidden", "not_found", ...COMMON_ERRORS) },
});

const updateWebhookEndpointRoute = createRoute({
  ...endpointRoute,
  method: "patch",
  operationId: "updateWebhookEndpoint",
  summary: "Update a webhook endpoint",
  description:
    "Updates the fields that you send. If you change `url`, pending deliveries are sent to the " +
    "new URL. While an endpoint is disabled, its deliveries wait; they are sent when you " +
    "enable it again. If `url` is not `https://`, or points to a private network, the error is " +
    "`validation_error`, unless the setting `WEBHOOK_ALLOW_PRIVATE` is `true`. Staff only; " +
    "other callers get `forbidden`.",
  request: {
    params,
    headers: IdempotencyHeaders,
    body: {
      required: true,
      content: {
        "application/json": { schema: WebhookEndpointChangesSchema, examples: ENDPOINT_CHANGES },
      },
    },
  },
  responses: {
    200: {
      description: "The endpoint",
      headers: REPLAY_HEADER,
      content: {
        "application/json": { schema: WebhookEndpointSchema, examples: CHANGED_ENDPOINTS },
      },
    },
    ...problems(...KEYED_BODY_ERRORS, "forbidden", "not_found", ...COMMON_ERRORS),
  },
});

const deleteWebhookEndpointRoute = createRoute({
  ...endpointRoute,
  method: "delete",
  operationId: "deleteWebhookEndpoint",
  summary: "Delete a webhook endpoint",
  description:
    "Deletes an endpoint and all its deliveries. To keep deliveries waiting instead, disable the " +
    "endpoint. For an endpoint that is already deleted, the error is `not_found`. Staff only; " +
    "other callers get `forbidden`.",
  request: { params, headers: IdempotencyHeaders },
  responses: {
    204: { description: "The endpoint was deleted", headers: REPLAY_HEADER },
    ...problems("forbidden", "not_found", ...EMPTY_BODY_ERRORS, ...KEY_ERRORS, ...COMMON_ERRORS),
  },
});

export function addEndpoints(router: Router, service: Service): void {
  router.openapi(listRoute, async (c) => {
    const { limit, cursor } = c.req.valid("query");
    const options = { limit, before: cursor ?? null };
    const { endpoints, next } = await listWebhookEndpoints(service, callerOf(c), options);
    return c.json(endpoints, 200, linkHeader(basePathOf(c, path) + path, { limit }, next));
  });
  router.openapi(createWebhookEndpointRoute, async (c) => {
    const { url, event_names = null, description = null, enabled = true } = c.req.valid("json");
    const input = { url, event_names, description, enabled };
    const requestKey = requestKeyOf(c.req.valid("header"), `POST ${path}`, input);
    const caller = callerOf(c);
    const { body, isReplayed } = await createWebhookEndpoint(service, caller, input, {
      requestKey,
    });
    const Location = `${basePathOf(c, path)}${path}${body.id}/`;
    const headers = { Location, ...replayHeader(isReplayed) };
    // The response contains a secret.
    return c.json(body, 201, { ...headers, "Cache-Control": "no-store" });
  });
  router.openapi(readWebhookEndpointRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    return c.json(await readWebhookEndpoint(service, callerOf(c), id), 200);
  });
  router.openapi(
    updateWebhookEndpointRoute,
    keepReply(service, async (c) => {
      const id = parsePathId(c.req.valid("param").pk);
      const changes = c.req.valid("json");
      return c.json(await updateWebhookEndpoint(service, callerOf(c), id, changes), 200);
    }),
  );
  router.openapi(
    deleteWebhookEndpointRoute,
    keepReply(service, async (c) => {
      await deleteWebhookEndpoint(service, callerOf(c), parsePathId(c.req.valid("param").pk));
      return c.body(null, 204);
    }),
  );
}
