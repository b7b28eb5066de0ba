/** `GET /subscriptions/`: the caller's subscriptions, newest first. */

import { createRoute, z } from "@hono/zod-openapi";
import { oneOf } from "../../core/input_fields.ts";
import type { RecordDeps } from "../../core/records/deps.ts";
import { listSubscriptions } from "../../core/subscriptions/read.ts";
import { SUBSCRIPTION_STATUSES } from "../../core/subscriptions/states.ts";
import { unsentExample } from "../../openapi/components.ts";
import { SubscriptionSchema } from "../schemas/subscription.ts";
import { linkHeader, NEXT_PAGE, paging } from "../shared/page.ts";
import { basePathOf } from "../shared/paths.ts";
import { COMMON_ERRORS, problems } from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { SUBSCRIPTION_PAGE } from "./examples.ts";

const path = "/subscriptions/";

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listSubscriptions",
  summary: "List subscriptions",
  description:
    "Your subscriptions, newest first; staff see everybody's. Use `status=inactive` to find " +
    "those that the gateway ended. Follow `Link` for the next page until there is none: " +
    "subscriptions that arrive meanwhile shift nothing. A filter, `limit` or `cursor` that is " +
    "not valid is `validation_error`, and `errors` names it.",
  tags: ["Subscriptions"],
  request: {
    query: z.object({
      status: oneOf(SUBSCRIPTION_STATUSES).optional().openapi({
        description: "Only subscriptions with this `status`.",
        param: { examples: unsentExample("active") },
      }),
      ...paging,
    }),
  },
  responses: {
    200: {
      description: "A page of subscriptions",
      headers: NEXT_PAGE,
      content: {
        "application/json": { schema: z.array(SubscriptionSchema), examples: SUBSCRIPTION_PAGE },
      },
    },
    ...problems("validation_error", ...COMMON_ERRORS),
  },
});

export function addList(router: Router, deps: RecordDeps): void {
  router.openapi(listRoute, async (c) => {
    const { status, limit, cursor } = c.req.valid("query");
    const filter = { status: status ?? null, limit, before: cursor ?? null };
    const { subscriptions, next } = await listSubscriptions(deps, callerOf(c), filter);
    const link = linkHeader(basePathOf(c, path) + path, { status, limit }, next);
    return c.json(subscriptions, 200, link);
  });
}
