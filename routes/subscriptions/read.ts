/** `GET /subscriptions/{pk}/`: one subscription, as it is known here. */

import { createRoute, z } from "@hono/zod-openapi";
import type { RecordDeps } from "../../core/records/deps.ts";
import { readSubscription } from "../../core/subscriptions/read.ts";
import { callerOf } from "../app_env.ts";
import { OF_CALLERS } from "../codes.ts";
import { idOf, pathId } from "../path_id.ts";
import { problems } from "../problem_answers.ts";
import type { Router } from "../router.ts";
import { SubscriptionSchema } from "./schemas.ts";

export const SubscriptionPath = z.object({ pk: pathId("The subscription's `id`.") });

const readRoute = createRoute({
  method: "get",
  path: "/subscriptions/{pk}/",
  operationId: "getSubscription",
  summary: "Read a subscription",
  description:
    "The subscription as it is known here. The service hears of its charges by itself, " +
    "within moments.",
  tags: ["Subscriptions"],
  request: { params: SubscriptionPath },
  responses: {
    200: {
      description: "The subscription",
      content: { "application/json": { schema: SubscriptionSchema } },
    },
    ...problems("not_found", ...OF_CALLERS),
  },
});

export function addRead(router: Router, deps: RecordDeps): void {
  router.openapi(readRoute, async (c) => {
    const id = idOf(c.req.valid("param").pk);
    return c.json(await readSubscription(deps, callerOf(c), id), 200);
  });
}
