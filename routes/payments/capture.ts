/** `POST /payments/{pk}/capture/`: takes what a card holds ready. */

import { createRoute } from "@hono/zod-openapi";
import { capturePayment } from "../../core/payments/capture.ts";
import type { PaymentDeps } from "../../core/payments/deps.ts";
import { PaymentSchema } from "../schemas/payment.ts";
import { PAYMENTS } from "../schemas/payment_examples.ts";
import { actionRequest, optionalBody, scopeOf } from "../shared/action.ts";
import { keyedAttempt, REPLAY_HEADER, replayHeader } from "../shared/idempotency.ts";
import {
  COMMON_ERRORS,
  GATEWAY_ERRORS,
  KEYED_BODY_ERRORS,
  problems,
} from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { CaptureSchema } from "./input.ts";
import { CAPTURES } from "./input_examples.ts";
import { paymentIdOf, PaymentPath } from "./payment_id.ts";

const path = "/payments/{pk}/capture/";

const captureRoute = createRoute({
  method: "post",
  path,
  operationId: "capturePayment",
  summary: "Capture an authorized payment",
  description:
    "Takes the amount that a card holds ready, when the goods leave: for a `credit_card` " +
    "payment in state `authorize`, which a charge with `authorize: true` leads to. It can be " +
    "captured once, whole or in part, within the 7 days that a hold lasts. Anything else is " +
    "`invalid_state`, and more than is held is `validation_error`. Where the bank refuses " +
    "(`capture_denied`) the payment stays as it is, to be tried again or cancelled.\n\n" +
    "An error with `outcome: unknown` means that the gateway did not say whether it was done: " +
    "read the payment, or send the same request with the same `Idempotency-Key` again, which " +
    "never takes it twice.",
  tags: ["Payments"],
  middleware: [optionalBody],
  request: actionRequest(PaymentPath, {
    schema: CaptureSchema,
    description: "Leave it out to take all that is held.",
    examples: CAPTURES,
  }),
  responses: {
    200: {
      description: "The payment, captured",
      headers: REPLAY_HEADER,
      content: {
        "application/json": {
          schema: PaymentSchema,
          examples: { captured_card: PAYMENTS.captured_card },
        },
      },
    },
    ...problems(
      "not_found",
      "invalid_state",
      "capture_denied",
      ...KEYED_BODY_ERRORS,
      ...GATEWAY_ERRORS,
      ...COMMON_ERRORS,
    ),
  },
});

export function addCapture(router: Router, deps: PaymentDeps): void {
  router.openapi(captureRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    const input = c.req.valid("json");
    const attempt = keyedAttempt(c.req.valid("header"), scopeOf(path, id), input);
    const { body, isReplayed } = await capturePayment(deps, callerOf(c), id, input, attempt);
    return c.json(body, 200, replayHeader(isReplayed));
  });
}
