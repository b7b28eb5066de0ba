/** `GET /webhook-endpoints/`: where events are sent to. */

import { createRoute, z } from "@hono/zod-openapi";
import type { WebhookDeps } from "../../core/webhooks/deps.ts";
import { listWebhookEndpoints } from "../../core/webhooks/manage_endpoints.ts";
import { basePathOf, callerOf } from "../shared/request_context.ts";
import { OF_CALLERS } from "../shared/codes.ts";
import { linkHeader, NEXT_PAGE, paging } from "../shared/page.ts";
import { problems } from "../shared/problem_responses.ts";
import type { Router } from "../shared/router.ts";
import { ENDPOINT_PAGE } from "./examples.ts";
import { WebhookEndpointSchema } from "./schemas.ts";

const path = "/webhook-endpoints/";

const listWebhookEndpointsRoute = createRoute({
  method: "get",
  path,
  operationId: "listWebhookEndpoints",
  summary: "List webhook endpoints",
  description:
    "Where events are sent to, newest first; secrets are not shown. Look here for endpoints " +
    "that were disabled (`disabled_reason`) or are about to be (`failing_since`). Follow " +
    "`Link` for the next page until there is none. For staff; others get `forbidden`.",
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
    ...problems("validation_error", "forbidden", ...OF_CALLERS),
  },
});

export function addList(router: Router, deps: WebhookDeps): void {
  router.openapi(listWebhookEndpointsRoute, async (c) => {
    const { limit, cursor } = c.req.valid("query");
    const options = { limit, before: cursor ?? null };
    const { endpoints, next } = await listWebhookEndpoints(deps, callerOf(c), options);
    return c.json(endpoints, 200, linkHeader(basePathOf(c, path) + path, { limit }, next));
  });
}
