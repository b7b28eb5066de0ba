/**
 * `POST /reviews/{pk}/…`: staff approve or deny card payments that fraud detection has challenged.
 */

import { createRoute } from "@hono/zod-openapi";
import { approvePayment, denyPayment } from "../../core/payments/actions.ts";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { forCaller } from "../../core/payments/views.ts";
import { PAYMENTS } from "../../core/payments/examples.ts";
import { actionRequest, emptyBody, optionalBody } from "../../http/action.ts";
import { REPLAY_HEADER, replayHeader, requestKeyOf, scopeOf } from "../../http/idempotency.ts";
import { ACTION_ERRORS, problems } from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import type { Service } from "../../core/service.ts";
import { UNKNOWN_OUTCOME } from "./actions.ts";
import { paymentIdOf, PaymentPath } from "./requests.ts";

const approveRoute = createRoute({
  method: "post",
  path: "/reviews/{pk}/approve/",
  operationId: "approvePayment",
  summary: "Approve a challenged payment",
  description:
    "Accepts a card payment with `fraud_status: challenge`, so that it is paid. `pk` is the " +
    "payment's `id`. A challenged authorization stays an authorization, which you can capture. " +
    "Decide on the day of the payment: if a challenge is not decided before the settlement, the " +
    "gateway cancels the payment. If the payment has no challenge, or it is already decided, the " +
    "error is `invalid_state`. Staff only; other callers get `forbidden`, also for their own payments.\n\n" +
    `${UNKNOWN_OUTCOME}.`,
  tags: ["Reviews"],
  middleware: [optionalBody],
  request: actionRequest(PaymentPath, emptyBody("approved_card")),
  responses: {
    200: {
      description: "The approved payment",
      headers: REPLAY_HEADER,
      content: {
        "application/json": {
          schema: PaymentSchema,
          examples: { approved_card: PAYMENTS.approved_card },
        },
      },
    },
    ...problems(...ACTION_ERRORS),
  },
});

const denyRoute = createRoute({
  method: "post",
  path: "/reviews/{pk}/deny/",
  operationId: "denyPayment",
  summary: "Deny a challenged payment",
  description:
    "Rejects a card payment with `fraud_status: challenge`: the card is not charged. `pk` is the " +
    "payment's `id`. The payment then has the `fraud_status` `deny` and the status `cancel` or " +
    "`deny`, as the gateway reports it. If the payment has no challenge, or it is already decided, " +
    "the error is `invalid_state`. Staff only; other callers get `forbidden`, also for their own payments.\n\n" +
    `${UNKNOWN_OUTCOME}.`,
  tags: ["Reviews"],
  middleware: [optionalBody],
  request: actionRequest(PaymentPath, emptyBody("rejected_card")),
  responses: {
    200: {
      description: "The denied payment",
      headers: REPLAY_HEADER,
      content: {
        "application/json": {
          schema: PaymentSchema,
          examples: { rejected_card: PAYMENTS.rejected_card },
        },
      },
    },
    ...problems(...ACTION_ERRORS),
  },
});

export function createReviewRoutes(service: Service): Router {
  const router = createRouter();
  router.openapi(approveRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    const scope = scopeOf(approveRoute.path, id);
    const requestKey = requestKeyOf(c.req.valid("header"), scope, c.req.valid("json"));
    const { body, isReplayed } = await approvePayment(service, {
      caller: callerOf(c),
      id,
      requestKey,
    });
    return c.json(forCaller(service, callerOf(c), body), 200, replayHeader(isReplayed));
  });
  router.openapi(denyRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    const scope = scopeOf(denyRoute.path, id);
    const requestKey = requestKeyOf(c.req.valid("header"), scope, c.req.valid("json"));
    const { body, isReplayed } = await denyPayment(service, {
      caller: callerOf(c),
      id,
      requestKey,
    });
    return c.json(forCaller(service, callerOf(c), body), 200, replayHeader(isReplayed));
  });
  return router;
}
