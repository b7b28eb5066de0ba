/** `POST /payments/{pk}/cancel/`: takes back what is not settled yet. */

import { createRoute } from "@hono/zod-openapi";
import { cancelPayment } from "../../core/payments/cancel.ts";
import type { PaymentDeps } from "../../core/payments/deps.ts";
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

const path = "/payments/{pk}/cancel/";

const cancelRoute = createRoute({
  method: "post",
  path,
  operationId: "cancelPayment",
  summary: "Cancel a payment",
  description:
    "Ends a payment before the money moves, because the order is off: one that is `pending`, " +
    "`authorize` (the hold is let go) or `capture` (the card is not charged after all). Once " +
    "it is settled it is `invalid_state`, with the payment's `transaction_status`: refund it " +
    "instead. If the customer pays in the same moment, the gateway decides, and the answer " +
    "shows what it decided.\n\n" +
    "An error with `outcome: unknown` means that the gateway did not say whether it was done: " +
    "read the payment, or send the same request with the same `Idempotency-Key` again.",
  tags: ["Payments"],
  middleware: [optionalBody],
  request: actionRequest(PaymentPath, EMPTY_BODY),
  responses: {
    200: {
      description: "The payment, cancelled",
      headers: REPLAY_HEADER,
      content: {
        "application/json": {
          schema: PaymentSchema,
          examples: { cancelled_virtual_account: PAYMENTS.cancelled_virtual_account },
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

export function addCancel(router: Router, deps: PaymentDeps): void {
  router.openapi(cancelRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    const attempt = keyedAttempt(c.req.valid("header"), scopeOf(path, id), c.req.valid("json"));
    const { body, isReplayed } = await cancelPayment(deps, callerOf(c), id, attempt);
    return c.json(body, 200, replayHeader(isReplayed));
  });
}
