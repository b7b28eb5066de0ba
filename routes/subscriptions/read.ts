/** `GET /subscriptions/{pk}/`: one subscription, as it is known here. */

import { createRoute, z } from "@hono/zod-openapi";
import type { RecordDeps } from "../../core/records/deps.ts";
import { readSubscription } from "../../core/subscriptions/read.ts";
import { SubscriptionSchema } from "../schemas/subscription.ts";
import { idOf, pathId } from "../shared/paths.ts";
import { COMMON_ERRORS, problems } from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { SUBSCRIPTIONS } from "./examples.ts";

export const SubscriptionPath = z.object({ pk: pathId("The subscription's `id`.") });

const readRoute = createRoute({
  method: "get",
  path: "/subscriptions/{pk}/",
  operationId: "getSubscription",
  summary: "Get a subscription",
  description:
    "The subscription as it is known here: its state, which cycle it is in, and when the next " +
    "one begins. The service hears of its charges by itself, within moments; what was charged " +
    "are payments with its `subscription_id`. Somebody else's subscription is `not_found`, as " +
    "if it did not exist.",
  tags: ["Subscriptions"],
  request: { params: SubscriptionPath },
  responses: {
    200: {
      description: "The subscription",
      content: { "application/json": { schema: SubscriptionSchema, examples: SUBSCRIPTIONS } },
    },
    ...problems("not_found", ...COMMON_ERRORS),
  },
});

export function addRead(router: Router, deps: RecordDeps): void {
  router.openapi(readRoute, async (c) => {
    const id = idOf(c.req.valid("param").pk);
    return c.json(await readSubscription(deps, callerOf(c), id), 200);
  });
}
