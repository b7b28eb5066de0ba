/** `POST /subscriptions/{pk}/{action_name}/`: disable, enable, cancel. */

import { createRoute } from "@hono/zod-openapi";
import { oneOf } from "../../core/input_fields.ts";
import type { RecordDeps } from "../../core/records/deps.ts";
import * as actions from "../../core/subscriptions/act.ts";
import { SUBSCRIPTION_ACTIONS } from "../../core/subscriptions/states.ts";
import { SubscriptionSchema } from "../schemas/subscription.ts";
import { actionRequest, EMPTY_BODY, optionalBody, scopeOf } from "../shared/action.ts";
import { keyedAttempt, REPLAY_HEADER, replayHeader } from "../shared/idempotency.ts";
import { idOf } from "../shared/paths.ts";
import {
  COMMON_ERRORS,
  GATEWAY_ERRORS,
  KEYED_BODY_ERRORS,
  problems,
} from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { SUBSCRIPTIONS } from "./examples.ts";
import { SubscriptionPath } from "./read.ts";

const ActionPath = SubscriptionPath.extend({
  action_name: oneOf(SUBSCRIPTION_ACTIONS).openapi({
    description: "- `disable`: pauses one that is `active`\n" +
      "- `enable`: goes on with one that is `disabled`; cycles that it missed are not made up for\n" +
      "- `cancel`: ends it, for good",
    example: "disable",
  }),
});

const VERBS = {
  disable: actions.disableSubscription,
  enable: actions.enableSubscription,
  cancel: actions.cancelSubscription,
};

/** What an action leads to. */
const CHANGED = {
  disabled_subscription: SUBSCRIPTIONS.disabled_subscription,
  active_subscription: SUBSCRIPTIONS.active_subscription,
  cancelled_subscription: SUBSCRIPTIONS.cancelled_subscription,
};

const path = "/subscriptions/{pk}/{action_name}/";

const actRoute = createRoute({
  method: "post",
  path,
  operationId: "changeSubscription",
  summary: "Disable, enable or cancel a subscription",
  description:
    "Pauses a subscription, goes on with it, or ends it for good. An action that its state " +
    "does not allow is `invalid_state`, with its `subscription_status`: only what is `active` " +
    "can be disabled, only what is `disabled` can be enabled, and what is `cancelled` stays " +
    "so. Retries of a charge that failed still run after `disable`; `cancel` drops " +
    "them.\n\n" +
    "With `outcome: unknown` the gateway did not answer in time: there is nothing to do, the " +
    "service goes on asking until it does.",
  tags: ["Subscriptions"],
  middleware: [optionalBody],
  request: actionRequest(ActionPath, EMPTY_BODY),
  responses: {
    200: {
      description: "The subscription after it",
      headers: REPLAY_HEADER,
      content: { "application/json": { schema: SubscriptionSchema, examples: CHANGED } },
    },
    ...problems(
      "not_found",
      "invalid_state",
      ...KEYED_BODY_ERRORS,
      ...GATEWAY_ERRORS,
      ...COMMON_ERRORS,
    ),
  },
});

export function addAct(router: Router, deps: RecordDeps): void {
  router.openapi(actRoute, async (c) => {
    const { pk, action_name } = c.req.valid("param");
    const id = idOf(pk);
    const scope = scopeOf(path, id).replace("{action_name}", action_name);
    const attempt = keyedAttempt(c.req.valid("header"), scope, c.req.valid("json"));
    const { body, isReplayed } = await VERBS[action_name](deps, callerOf(c), id, attempt);
    return c.json(body, 200, replayHeader(isReplayed));
  });
}
