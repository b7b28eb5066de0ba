/** `POST /webhook-endpoints/{id}/…/`: tries an endpoint, and gives it another secret. */

import { createRoute, z } from "@hono/zod-openapi";
import type { WebhookDeps } from "../../core/webhooks/deps.ts";
import { rotateWebhookSecret } from "../../core/webhooks/manage_endpoints.ts";
import { testWebhookEndpoint } from "../../core/webhooks/test_endpoint.ts";
import { callerOf } from "../shared/request_context.ts";
import { OF_CALLERS, OF_EMPTY_BODY } from "../shared/codes.ts";
import { idOf } from "../shared/paths.ts";
import { problems } from "../shared/problem_responses.ts";
import type { Router } from "../shared/router.ts";
import { ENDPOINTS_WITH_SECRETS, TEST_RESULTS } from "./examples.ts";
import { endpointId } from "./path.ts";
import { WebhookEndpointWithSecretSchema, WebhookTestResultSchema } from "./schemas.ts";

const about = {
  method: "post" as const,
  tags: ["Webhooks"],
  request: { params: z.object({ id: endpointId }) },
};

const refusals = problems("forbidden", "not_found", ...OF_EMPTY_BODY, ...OF_CALLERS);

const testWebhookEndpointRoute = createRoute({
  ...about,
  path: "/webhook-endpoints/{id}/test/",
  operationId: "testWebhookEndpoint",
  summary: "Test a webhook endpoint",
  description:
    "Sends it an event `webhook_endpoint_tested`, signed as all are, once and right now, and " +
    "tells what came of it: use it when a receiver is new, or was mended. That the endpoint " +
    "does not answer is no error of this call, but 200 with `succeeded: false`. Nothing of it " +
    "is stored, and a failure does not count. It needs no body. For staff; others get " +
    "`forbidden`.",
  responses: {
    200: {
      description: "What came of it, be it a failure",
      content: { "application/json": { schema: WebhookTestResultSchema, examples: TEST_RESULTS } },
    },
    ...refusals,
  },
});

const rotateWebhookSecretRoute = createRoute({
  ...about,
  path: "/webhook-endpoints/{id}/rotate-secret/",
  operationId: "rotateWebhookSecret",
  summary: "Rotate the secret of a webhook endpoint",
  description:
    "The answer shows the new secret, this once: for when the old one was lost or seen. For a " +
    "day everything is signed with both, so that your receiver can change over in its own " +
    "time; one before that counts no longer. So do not rotate twice in a row. It needs no " +
    "body. For staff; others get `forbidden`.",
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
    ...refusals,
  },
});

export function addActions(router: Router, deps: WebhookDeps): void {
  router.openapi(testWebhookEndpointRoute, async (c) => {
    const id = idOf(c.req.valid("param").id);
    return c.json(await testWebhookEndpoint(deps, callerOf(c), id), 200);
  });
  router.openapi(rotateWebhookSecretRoute, async (c) => {
    const id = idOf(c.req.valid("param").id);
    const endpoint = await rotateWebhookSecret(deps, callerOf(c), id);
    return c.json(endpoint, 200, { "Cache-Control": "no-store" });
  });
}
