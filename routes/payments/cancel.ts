/** `POST /payments/{pk}/cancel/`: takes back what is not settled yet. */

import { createRoute } from "@hono/zod-openapi";
import { cancelPayment } from "../../core/payments/cancel.ts";
import type { PaymentDeps } from "../../core/payments/deps.ts";
import { callerOf } from "../app_env.ts";
import { attemptOf, REPLAY_HEADER, replayHeader } from "../idempotency.ts";
import { optionalBody } from "../optional_body.ts";
import { problems } from "../problem_answers.ts";
import type { Router } from "../router.ts";
import { actionRequest, NothingSchema, scopeOf } from "../action.ts";
import { OF_CALLERS, OF_GATEWAY, OF_INPUT } from "../codes.ts";
import { paymentIdOf, PaymentPath } from "./payment_id.ts";
import { PaymentSchema } from "./schemas.ts";

const path = "/payments/{pk}/cancel/";

const cancelRoute = createRoute({
  method: "post",
  path,
  operationId: "cancelPayment",
  summary: "Cancel a payment",
  description:
    "Ends a payment before the money moves: one that is `pending`, `authorize` (the hold is let " +
    "go) or `capture` (the card is not charged after all). Anything later is `invalid_state`: " +
    "refund it instead.",
  tags: ["Payments"],
  middleware: [optionalBody],
  request: actionRequest(
    PaymentPath,
    NothingSchema,
    "Nothing is needed: leave it out, or send `{}`.",
  ),
  responses: {
    200: {
      description: "The payment, cancelled",
      headers: REPLAY_HEADER,
      content: { "application/json": { schema: PaymentSchema } },
    },
    ...problems("not_found", "invalid_state", ...OF_INPUT, ...OF_GATEWAY, ...OF_CALLERS),
  },
});

export function addCancel(router: Router, deps: PaymentDeps): void {
  router.openapi(cancelRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    const attempt = attemptOf(c.req.valid("header"), scopeOf(path, id), c.req.valid("json"));
    const { body, isReplayed } = await cancelPayment(deps, callerOf(c), id, attempt);
    return c.json(body, 200, replayHeader(isReplayed));
  });
}
