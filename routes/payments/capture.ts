/** `POST /payments/{pk}/capture/`: takes what a card holds ready. */

import { createRoute } from "@hono/zod-openapi";
import { capturePayment } from "../../core/payments/capture.ts";
import type { PaymentDeps } from "../../core/payments/deps.ts";
import { callerOf } from "../app_env.ts";
import { amount, object } from "../fields.ts";
import { attemptOf, REPLAY_HEADER, replayHeader } from "../idempotency.ts";
import { optionalBody } from "../optional_body.ts";
import { problems } from "../problem_answers.ts";
import type { Router } from "../router.ts";
import { actionRequest, scopeOf } from "../action.ts";
import { OF_CALLERS, OF_GATEWAY, OF_INPUT } from "../codes.ts";
import { paymentIdOf, PaymentPath } from "./payment_id.ts";
import { PaymentSchema } from "./schemas.ts";

const CaptureSchema = object({
  amount: amount().optional().openapi({
    description: "How much of what is held, at most all of it; all of it where left out. What is " +
      "not taken is let go.",
    example: 120000,
  }),
}).openapi("CaptureRequest");

const path = "/payments/{pk}/capture/";

const captureRoute = createRoute({
  method: "post",
  path,
  operationId: "capturePayment",
  summary: "Capture an authorized payment",
  description:
    "Takes the amount that a card holds ready: for a `credit_card` payment in state `authorize`, " +
    "which a charge with `authorize: true` leads to. It can be captured once. Where the bank " +
    "refuses (`capture_denied`) the payment stays as it is, to be tried again or cancelled.",
  tags: ["Payments"],
  middleware: [optionalBody],
  request: actionRequest(PaymentPath, CaptureSchema, "Leave it out to take all that is held."),
  responses: {
    200: {
      description: "The payment, captured",
      headers: REPLAY_HEADER,
      content: { "application/json": { schema: PaymentSchema } },
    },
    ...problems(
      "not_found",
      "invalid_state",
      "capture_denied",
      ...OF_INPUT,
      ...OF_GATEWAY,
      ...OF_CALLERS,
    ),
  },
});

export function addCapture(router: Router, deps: PaymentDeps): void {
  router.openapi(captureRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    const input = c.req.valid("json");
    const attempt = attemptOf(c.req.valid("header"), scopeOf(path, id), input);
    const { body, isReplayed } = await capturePayment(deps, callerOf(c), id, input, attempt);
    return c.json(body, 200, replayHeader(isReplayed));
  });
}
