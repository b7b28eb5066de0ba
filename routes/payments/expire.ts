/** `POST /payments/{pk}/expire/`: the customer had time enough to pay. */

import { createRoute } from "@hono/zod-openapi";
import { expirePayment } from "../../core/payments/expire.ts";
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

const path = "/payments/{pk}/expire/";

const expireRoute = createRoute({
  method: "post",
  path,
  operationId: "expirePayment",
  summary: "Expire a payment",
  description:
    "Ends a `pending` payment now instead of at its `expiry_time`, so that the customer can no " +
    "longer pay it. If the customer was faster, it is `invalid_state`, and the payment shows what " +
    "happened.",
  tags: ["Payments"],
  middleware: [optionalBody],
  request: actionRequest(
    PaymentPath,
    NothingSchema,
    "Nothing is needed: leave it out, or send `{}`.",
  ),
  responses: {
    200: {
      description: "The payment, expired",
      headers: REPLAY_HEADER,
      content: { "application/json": { schema: PaymentSchema } },
    },
    ...problems("not_found", "invalid_state", ...OF_INPUT, ...OF_GATEWAY, ...OF_CALLERS),
  },
});

export function addExpire(router: Router, deps: PaymentDeps): void {
  router.openapi(expireRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    const attempt = attemptOf(c.req.valid("header"), scopeOf(path, id), c.req.valid("json"));
    const { body, isReplayed } = await expirePayment(deps, callerOf(c), id, attempt);
    return c.json(body, 200, replayHeader(isReplayed));
  });
}
