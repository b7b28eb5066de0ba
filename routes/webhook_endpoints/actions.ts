/** `POST /webhook-endpoints/{pk}/…/`: tests an endpoint, and rotates its secret. */

import { createRoute, z } from "@hono/zod-openapi";
import type { Service } from "../../core/service.ts";
import { rotateWebhookSecret, testWebhookEndpoint } from "../../core/webhooks/endpoints.ts";
import {
  IdempotencyHeaders,
  REPLAY_HEADER,
  replayHeader,
  requestKeyOf,
  scopeOf,
} from "../../http/idempotency.ts";
import { keepReply } from "../../http/keep_reply.ts";
import { parsePathId } from "../../http/paths.ts";
import {
  COMMON_ERRORS,
  EMPTY_BODY_ERRORS,
  KEY_ERRORS,
  problems,
} from "../../http/problems/responses.ts";
import { callerOf, type Router } from "../../http/router.ts";
import { ENDPOINTS_WITH_SECRETS, TEST_RESULTS } from "./examples.ts";
import { endpointId, WebhookEndpointWithSecretSchema, WebhookTestResultSchema } from "./schemas.ts";

const common = {
  method: "post" as const,
  tags: ["Webhooks"],
  request: { params: z.object({ pk: endpointId }), headers: IdempotencyHeaders },
};

const errorResponses = problems(
  "forbidden",
  "not_found",
  ...EMPTY_BODY_ERRORS,
  ...KEY_ERRORS,
  ...COMMON_ERRORS,
);

const testWebhookEndpointRoute = createRoute({
  ...common,
  path: "/webhook-endpoints/{pk}/test/",
  operationId: "testWebhookEndpoint",
  summary: "Test a webhook endpoint",
  description:
    "Sends one signed event `webhook_endpoint_tested` to the endpoint and returns the result. Use " +
    "it for a new or changed receiver. If the endpoint does not respond, the status is still 200, " +
    "with `succeeded: false`. The test is not stored, and a failure does not count towards " +
    "disabling the endpoint. No body is needed. Staff only; other callers get `forbidden`.",
  responses: {
    200: {
      description: "The result, successful or not",
      headers: REPLAY_HEADER,
      content: { "application/json": { schema: WebhookTestResultSchema, examples: TEST_RESULTS } },
    },
    ...errorResponses,
  },
});

const rotateWebhookSecretRoute = createRoute({
  ...common,
  path: "/webhook-endpoints/{pk}/rotate-secret/",
  operationId: "rotateWebhookSecret",
  summary: "Rotate the secret of a webhook endpoint",
  description:
    "Returns a new secret, which is shown only once. Use it if the old secret was lost or " +
    "exposed. Send an `Idempotency-Key`: if the response is lost, the same request with the same " +
    "key returns the same secret. For 24 hours deliveries are signed with both secrets, so that you can update your " +
    "receiver; if you rotate again within 24 hours, the oldest of the three secrets stops " +
    "working immediately. No body is needed. Staff only; other callers get `forbidden`.",
  responses: {
    200: {
      description: "The endpoint, with its new secret",
      headers: REPLAY_HEADER,
      content: {
        "application/json": {
          schema: WebhookEndpointWithSecretSchema,
          examples: { rotated: ENDPOINTS_WITH_SECRETS.rotated },
        },
      },
    },
    ...errorResponses,
  },
});

export function addActions(router: Router, service: Service): void {
  router.openapi(
    testWebhookEndpointRoute,
    keepReply(service, async (c) => {
      const id = parsePathId(c.req.valid("param").pk);
      return c.json(await testWebhookEndpoint(service, callerOf(c), id), 200);
    }),
  );
  router.openapi(rotateWebhookSecretRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    const scope = scopeOf(rotateWebhookSecretRoute.path, id);
    const requestKey = requestKeyOf(c.req.valid("header"), scope, null);
    const { body, isReplayed } = await rotateWebhookSecret(service, callerOf(c), id, {
      requestKey,
    });
    return c.json(body, 200, { "Cache-Control": "no-store", ...replayHeader(isReplayed) });
  });
}
