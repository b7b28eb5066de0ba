/** `/subscriptions/…`: lists, reads, checks, creates, changes, pauses and cancels subscriptions. */

import { createRoute, z } from "@hono/zod-openapi";
import { oneOf } from "../../core/fields/input.ts";
import type { Service } from "../../core/service.ts";
import { SUBSCRIPTION_VERBS, updateSubscription } from "../../core/subscriptions/actions.ts";
import { getSubscriptionStatus } from "../../core/subscriptions/check_at_gateway.ts";
import { createSubscription } from "../../core/subscriptions/create.ts";
import { listSubscriptions, readSubscription } from "../../core/subscriptions/read.ts";
import { SUBSCRIPTION_ACTIONS } from "../../core/subscriptions/states.ts";
import {
  SubscriptionInputSchema,
  SubscriptionUpdateSchema,
} from "../../core/subscriptions/subscription_input.ts";
import {
  SubscriptionSchema,
  SubscriptionStatusCheckSchema,
} from "../../core/subscriptions/schema.ts";
import { actionRequest, emptyBody, optionalBody } from "../../http/action.ts";
import {
  IdempotencyHeaders,
  REPLAY_HEADER,
  replayHeader,
  requestKeyOf,
  scopeOf,
} from "../../http/idempotency.ts";
import { filteredLinkHeader, NEXT_PAGE } from "../../http/lists/page.ts";
import { basePathOf, locationHeader, parsePathId, pathId } from "../../http/paths.ts";
import {
  ACTION_ERRORS,
  CHANGE_ERRORS,
  COMMON_ERRORS,
  GATEWAY_ERRORS,
  KEYED_BODY_ERRORS,
  problems,
} from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import {
  CREATED_SUBSCRIPTIONS,
  SUBSCRIPTION_PAGE,
  SUBSCRIPTION_REQUESTS,
  SUBSCRIPTION_STATUS_CHECKS,
  SUBSCRIPTION_UPDATES,
  SUBSCRIPTIONS,
} from "./examples.ts";
import { SubscriptionListQuery } from "../../http/lists/subscriptions.ts";

const path = "/subscriptions/";

const SubscriptionPath = z.object({ pk: pathId("The subscription's `id`.") });

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listSubscriptions",
  summary: "List subscriptions",
  description:
    "Returns your subscriptions, newest first; staff and viewers see the subscriptions of all " +
    "users. Use `status=inactive` to find those that the gateway ended. Follow `Link` for the " +
    "next page until it is absent; new subscriptions do not shift later pages. If a filter, " +
    "`limit` or `cursor` is invalid, the error is `validation_error`, and `errors` names the parameter.",
  tags: ["Subscriptions"],
  request: { query: SubscriptionListQuery },
  responses: {
    200: {
      description: "A page of subscriptions",
      headers: NEXT_PAGE,
      content: {
        "application/json": { schema: z.array(SubscriptionSchema), examples: SUBSCRIPTION_PAGE },
      },
    },
    ...problems("forbidden", ...COMMON_ERRORS),
  },
});

const createSubscriptionRoute = createRoute({
  method: "post",
  path,
  operationId: "createSubscription",
  summary: "Create a subscription",
  description: "Creates a recurring charge at the gateway: on a card saved by a charge with " +
    "`save_token_id`, or on a linked GoPay account. Each charge, successful or not, becomes a " +
    "payment with the subscription's id as `subscription_id`; each successful one emits the " +
    "event `subscription_charged`.\n\n" +
    "The subscription is stored before the gateway is called; its token is not stored. An error " +
    "with `outcome: refused` means that the gateway created nothing: fix the cause, and send the " +
    "request with a new key. `gateway_validation` means that the gateway rejected the token or " +
    "the schedule. With `outcome: unknown` the subscription may have been created: read it by " +
    "the error's `subscription_id`, or resend the same request with the same `Idempotency-Key`, " +
    "which never creates a second one.",
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
          examples: CREATED_SUBSCRIPTIONS,
        },
      },
    },
    ...problems(...KEYED_BODY_ERRORS, ...GATEWAY_ERRORS, ...CHANGE_ERRORS),
  },
});

const readRoute = createRoute({
  method: "get",
  path: "/subscriptions/{pk}/",
  operationId: "getSubscription",
  summary: "Get a subscription",
  description:
    "Returns the subscription as stored by the service: its status, the current cycle, and when " +
    "the next one starts. The gateway's notifications of charges usually arrive within seconds. " +
    "To list the charges of a subscription, use `GET /payments/?subscription_id=…`. For a " +
    "subscription of another user, the error is `not_found`.",
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

const checkStatusRoute = createRoute({
  method: "get",
  path: "/subscriptions/{pk}/check_status/",
  operationId: "checkSubscriptionStatus",
  summary: "Check a subscription's status at the gateway",
  description:
    "Fetches the subscription's current state and its charges from the gateway, updates the " +
    "subscription, creates payments for charges that have none yet, and returns the subscription " +
    "and the gateway's response. Use it when you cannot wait for the gateway's notification. Do " +
    "not poll with it: the service checks subscriptions automatically. If the gateway does not " +
    "respond (`gateway_timeout`, `gateway_unreachable`) or limits the request rate " +
    "(`gateway_rate_limited`, with `Retry-After`), read the stored subscription instead. Viewers " +
    "get `forbidden`.",
  tags: ["Subscriptions"],
  request: { params: SubscriptionPath },
  responses: {
    200: {
      description: "The updated subscription, and the gateway's response",
      content: {
        "application/json": {
          schema: SubscriptionStatusCheckSchema,
          examples: SUBSCRIPTION_STATUS_CHECKS,
        },
      },
    },
    ...problems("not_found", ...GATEWAY_ERRORS, ...CHANGE_ERRORS),
  },
});

const updateRoute = createRoute({
  method: "patch",
  path: "/subscriptions/{pk}/",
  operationId: "updateSubscription",
  summary: "Update a subscription",
  description:
    "Changes the name, the amount, the interval, the retries or the token of a subscription, for " +
    "later cycles. The gateway requires the `token` with every change. A subscription that is " +
    "`cancelled`, or that the gateway has not confirmed, cannot be changed: the error is " +
    "`invalid_state` with the `subscription_status`. If the gateway rejects the new values, the " +
    "error is `gateway_validation`, and nothing is changed.\n\n" +
    "With `outcome: unknown` the gateway did not confirm whether it made the change: resend the " +
    "same request with the same `Idempotency-Key`. If you do not, and the gateway made " +
    "the change, the service finds the new name, amount or interval at its next check.",
  tags: ["Subscriptions"],
  request: {
    params: SubscriptionPath,
    headers: IdempotencyHeaders,
    body: {
      required: true,
      content: {
        "application/json": { schema: SubscriptionUpdateSchema, examples: SUBSCRIPTION_UPDATES },
      },
    },
  },
  responses: {
    200: {
      description: "The updated subscription",
      headers: REPLAY_HEADER,
      content: {
        "application/json": {
          schema: SubscriptionSchema,
          examples: {
            updated_subscription: SUBSCRIPTIONS.updated_subscription,
            active_subscription: SUBSCRIPTIONS.active_subscription,
          },
        },
      },
    },
    ...problems(...ACTION_ERRORS),
  },
});

const ActionPath = SubscriptionPath.extend({
  action_name: oneOf(SUBSCRIPTION_ACTIONS).openapi({
    description: "- `disable`: pauses an `active` subscription\n" +
      "- `enable`: resumes a `disabled` subscription; missed cycles are not charged\n" +
      "- `cancel`: ends the subscription permanently",
    example: "disable",
  }),
});

const actionPath = "/subscriptions/{pk}/{action_name}/";

const actionRoute = createRoute({
  method: "post",
  path: actionPath,
  operationId: "changeSubscription",
  summary: "Disable, enable or cancel a subscription",
  description:
    "Pauses, resumes or permanently ends a subscription. If the status does not allow the " +
    "action, the error is `invalid_state` with the `subscription_status`: only an `active` " +
    "subscription can be disabled, only a `disabled` one can be enabled, and a `cancelled` one " +
    "cannot be changed. Retries of a failed charge continue after `disable`; `cancel` stops " +
    "them.\n\n" +
    "With `outcome: unknown` the gateway did not confirm the action. You do not have to do " +
    "anything: the service repeats the request until the gateway confirms or rejects it.",
  tags: ["Subscriptions"],
  middleware: [optionalBody],
  request: actionRequest(ActionPath, emptyBody("disabled_subscription")),
  responses: {
    200: {
      description: "The updated subscription",
      headers: REPLAY_HEADER,
      content: {
        "application/json": {
          schema: SubscriptionSchema,
          examples: {
            disabled_subscription: SUBSCRIPTIONS.disabled_subscription,
            active_subscription: SUBSCRIPTIONS.active_subscription,
            cancelled_subscription: SUBSCRIPTIONS.cancelled_subscription,
          },
        },
      },
    },
    ...problems(...ACTION_ERRORS),
  },
});

export function createSubscriptionRoutes(service: Service): Router {
  const router = createRouter();
  router.openapi(listRoute, async (c) => {
    const { cursor, ...query } = c.req.valid("query");
    const filter = { ...query, after: cursor ?? null };
    const { subscriptions, next } = await listSubscriptions(service, callerOf(c), filter);
    const link = filteredLinkHeader(basePathOf(c, path) + path, query, next);
    return c.json(subscriptions, 200, link);
  });
  router.openapi(createSubscriptionRoute, async (c) => {
    const input = c.req.valid("json");
    const requestKey = requestKeyOf(c.req.valid("header"), `POST ${path}`, input);
    const { body, isReplayed } = await createSubscription(service, callerOf(c), input, requestKey);
    const Location = `${basePathOf(c, path)}${path}${body.id}/`;
    return c.json(body, 201, { Location, ...replayHeader(isReplayed) });
  });
  router.openapi(readRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    return c.json(await readSubscription(service, callerOf(c), id), 200);
  });
  router.openapi(checkStatusRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    return c.json(await getSubscriptionStatus(service, callerOf(c), id), 200);
  });
  router.openapi(updateRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    const input = c.req.valid("json");
    const scope = scopeOf(updateRoute.path, id, "PATCH");
    const requestKey = requestKeyOf(c.req.valid("header"), scope, input);
    const request = { caller: callerOf(c), id, requestKey };
    const result = await updateSubscription(service, request, input);
    return c.json(result.body, 200, replayHeader(result.isReplayed));
  });
  router.openapi(actionRoute, async (c) => {
    const { pk, action_name } = c.req.valid("param");
    const id = parsePathId(pk);
    const scope = scopeOf(actionPath, id).replace("{action_name}", action_name);
    const requestKey = requestKeyOf(c.req.valid("header"), scope, c.req.valid("json"));
    const request = { caller: callerOf(c), id, requestKey };
    const { body, isReplayed } = await SUBSCRIPTION_VERBS[action_name](service, request);
    return c.json(body, 200, replayHeader(isReplayed));
  });
  return router;
}
