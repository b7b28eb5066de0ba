/** `POST /webhook-endpoints/{pk}/…/`: tests an endpoint, and rotates its secret. */

import { createRoute, z } from "@hono/zod-openapi";
import {
  rotateWebhookSecret,
  testWebhookEndpoint,
  type WebhookDeps,
} from "../../core/webhooks/endpoints.ts";
import { parsePathId } from "../shared/paths.ts";
import { COMMON_ERRORS, EMPTY_BODY_ERRORS, problems } from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { ENDPOINTS_WITH_SECRETS, TEST_RESULTS } from "./examples.ts";
import { endpointId } from "./input.ts";
import { WebhookEndpointWithSecretSchema, WebhookTestResultSchema } from "./schemas.ts";

const common = {
  method: "post" as const,
  tags: ["Webhooks"],
  request: { params: z.object({ pk: endpointId }) },
};

const errorResponses = problems("forbidden", "not_found", ...EMPTY_BODY_ERRORS, ...COMMON_ERRORS);

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
    "exposed. For 24 hours deliveries are signed with both secrets, so that you can update your " +
    "receiver; if you rotate again within 24 hours, the oldest of the three secrets stops " +
    "working immediately. No body is needed. Staff only; other callers get `forbidden`.",
  responses: {
    200: {
      description: "The endpoint, with its new secret",
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

export function addActions(router: Router, deps: WebhookDeps): void {
  router.openapi(testWebhookEndpointRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    return c.json(await testWebhookEndpoint(deps, callerOf(c), id), 200);
  });
  router.openapi(rotateWebhookSecretRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    const endpoint = await rotateWebhookSecret(deps, callerOf(c), id);
    return c.json(endpoint, 200, { "Cache-Control": "no-store" });
  });
}
