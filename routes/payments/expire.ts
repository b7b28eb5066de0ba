/** `POST /payments/{pk}/expire/`: the customer had time enough to pay. */

import { createRoute } from "@hono/zod-openapi";
import type { PaymentDeps } from "../../core/payments/deps.ts";
import { expirePayment } from "../../core/payments/expire.ts";
import { PaymentSchema } from "../schemas/payment.ts";
import { PAYMENTS } from "../schemas/payment_examples.ts";
import { actionRequest, EMPTY_BODY, optionalBody, scopeOf } from "../shared/action.ts";
import { keyedAttempt, REPLAY_HEADER, replayHeader } from "../shared/idempotency.ts";
import {
  COMMON_ERRORS,
  GATEWAY_ERRORS,
  KEYED_BODY_ERRORS,
  problems,
} from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { paymentIdOf, PaymentPath } from "./payment_id.ts";

const path = "/payments/{pk}/expire/";

const expireRoute = createRoute({
  method: "post",
  path,
  operationId: "expirePayment",
  summary: "Expire a payment",
  description:
    "Ends a `pending` payment now instead of at its `expiry_time`, so that the customer can no " +
    "longer pay it: when the stock is gone, or the cart was changed. If the customer was " +
    "faster, it is `invalid_state`, and the payment shows what happened. There is no need to " +
    "expire what runs out by itself: the service sees to that.\n\n" +
    "An error with `outcome: unknown` means that the gateway did not say whether it was done: " +
    "read the payment, or send the same request with the same `Idempotency-Key` again.",
  tags: ["Payments"],
  middleware: [optionalBody],
  request: actionRequest(PaymentPath, EMPTY_BODY),
  responses: {
    200: {
      description: "The payment, expired",
      headers: REPLAY_HEADER,
      content: {
        "application/json": {
          schema: PaymentSchema,
          examples: { expired_virtual_account: PAYMENTS.expired_virtual_account },
        },
      },
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

export function addExpire(router: Router, deps: PaymentDeps): void {
  router.openapi(expireRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    const attempt = keyedAttempt(c.req.valid("header"), scopeOf(path, id), c.req.valid("json"));
    const { body, isReplayed } = await expirePayment(deps, callerOf(c), id, attempt);
    return c.json(body, 200, replayHeader(isReplayed));
  });
}
