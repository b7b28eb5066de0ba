/** `POST /subscriptions/`: charges a customer time and again. */

import { createRoute } from "@hono/zod-openapi";
import type { RecordDeps } from "../../core/records/deps.ts";
import { createSubscription } from "../../core/subscriptions/create.ts";
import { SubscriptionSchema } from "../schemas/subscription.ts";
import {
  IdempotencyHeaders,
  keyedAttempt,
  REPLAY_HEADER,
  replayHeader,
} from "../shared/idempotency.ts";
import { basePathOf, locationHeader } from "../shared/paths.ts";
import {
  COMMON_ERRORS,
  GATEWAY_ERRORS,
  KEYED_BODY_ERRORS,
  problems,
} from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { SUBSCRIPTION_REQUESTS, SUBSCRIPTIONS } from "./examples.ts";
import { SubscriptionInputSchema } from "./input.ts";

const path = "/subscriptions/";

const createSubscriptionRoute = createRoute({
  method: "post",
  path,
  operationId: "createSubscription",
  summary: "Create a subscription",
  description:
    "Has the gateway charge a customer by itself, time and again: a card that was saved by a " +
    "charge with `save_token_id`, or a linked GoPay account. Each charge becomes a payment " +
    "with its `subscription_id`, also one that failed; each that was paid is told of by " +
    "`subscription_charged`.\n\n" +
    "The subscription is stored before the gateway is asked, its token is not. An error with " +
    "`outcome: refused` means that nothing happened; `gateway_validation` is how the gateway " +
    "says that it does not take the token or the schedule. With `outcome: unknown` it may have " +
    "been made: read it at `subscription_id`, or send the same request with the same " +
    "`Idempotency-Key` again, which never makes a second one.",
  tags: ["Subscriptions"],
  request: {
    headers: IdempotencyHeaders,
    body: {
      required: true,
      content: {
        "application/json": {
          schema: SubscriptionInputSchema,
          examples: SUBSCRIPTION_REQUESTS,
        },
      },
    },
  },
  responses: {
    201: {
      description: "The subscription",
      headers: { ...locationHeader("subscription", path), ...REPLAY_HEADER },
      content: {
        "application/json": {
          schema: SubscriptionSchema,
          examples: { active_subscription: SUBSCRIPTIONS.active_subscription },
        },
      },
    },
    ...problems(...KEYED_BODY_ERRORS, ...GATEWAY_ERRORS, ...COMMON_ERRORS),
  },
});

export function addCreate(router: Router, deps: RecordDeps): void {
  router.openapi(createSubscriptionRoute, async (c) => {
    const input = c.req.valid("json");
    const attempt = keyedAttempt(c.req.valid("header"), `POST ${path}`, input);
    const { body, isReplayed } = await createSubscription(deps, callerOf(c), input, attempt);
    const Location = `${basePathOf(c, path)}${path}${body.id}/`;
    return c.json(body, 201, { Location, ...replayHeader(isReplayed) });
  });
}
