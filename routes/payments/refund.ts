/** `POST /payments/{pk}/refund/`: pays back, all or a part. */

import { createRoute, z } from "@hono/zod-openapi";
import type { PaymentDeps } from "../../core/payments/deps.ts";
import { askForRefund } from "../../core/payments/process_refund_async.ts";
import { refundPayment } from "../../core/payments/refund.ts";
import { JOBS } from "../schemas/job_examples.ts";
import { PaymentSchema, RefundSchema } from "../schemas/payment.ts";
import { REFUND_RESULTS } from "../schemas/payment_examples.ts";
import { actionRequest, optionalBody, scopeOf } from "../shared/action.ts";
import {
  fingerprintRequest,
  keyedAttempt,
  REPLAY_HEADER,
  replayHeader,
} from "../shared/idempotency.ts";
import { accepted, AsyncHeaders, asyncResponse, prefersAsync } from "../shared/prefer.ts";
import {
  COMMON_ERRORS,
  GATEWAY_ERRORS,
  KEYED_BODY_ERRORS,
  problems,
} from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { RefundInputSchema } from "./input.ts";
import { REFUND_REQUESTS } from "./input_examples.ts";
import { paymentIdOf, PaymentPath } from "./payment_id.ts";

export const RefundedSchema = z.object({
  payment: PaymentSchema,
  refund: RefundSchema,
}).openapi("RefundResult", { description: "A refund, and its payment after it." });

const path = "/payments/{pk}/refund/";

const refundRoute = createRoute({
  method: "post",
  path,
  operationId: "refundPayment",
  summary: "Refund a payment",
  description:
    "Pays back what was paid, in one go or in parts until nothing is left; refunds can never " +
    "come to more than that, however many are asked for at once (`validation_error`). For " +
    "payments in state `settlement` or `partial_refund`; anything else is `invalid_state`, and " +
    "a `capture` that is not settled yet is cancelled instead. Cards, GoPay, ShopeePay, DANA, " +
    "QRIS, Akulaku and Kredivo can be refunded in parts, OVO only whole; bank transfers, bills " +
    "and stores not at all.\n\n" +
    "Where the bank refuses (`refund_denied`), `refund` tells so and the payment stays as it " +
    "is. With `outcome: unknown` the amount stays reserved until the service has found out, " +
    "which it does by itself; the same request with the same `Idempotency-Key` never pays back " +
    "twice.\n\n" +
    "With `Prefer: respond-async` all that is done by a job, whose `result` holds the answer.",
  tags: ["Payments"],
  middleware: [optionalBody],
  request: {
    ...actionRequest(PaymentPath, {
      schema: RefundInputSchema,
      description: "Leave it out to refund all that is left.",
      examples: REFUND_REQUESTS,
    }),
    headers: AsyncHeaders,
  },
  responses: {
    200: {
      description: "The payment after the refund, and the refund",
      headers: REPLAY_HEADER,
      content: { "application/json": { schema: RefundedSchema, examples: REFUND_RESULTS } },
    },
    ...asyncResponse({ queued_refund: JOBS.queued_refund }),
    ...problems(
      "not_found",
      "invalid_state",
      "refund_denied",
      ...KEYED_BODY_ERRORS,
      ...GATEWAY_ERRORS,
      ...COMMON_ERRORS,
    ),
  },
});

export function addRefund(router: Router, deps: PaymentDeps): void {
  router.openapi(refundRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    const input = c.req.valid("json");
    const headers = c.req.valid("header");
    const scope = scopeOf(path, id);
    if (prefersAsync(headers)) {
      const key = headers["Idempotency-Key"] ?? null;
      const request = { key, ...fingerprintRequest(scope, input) };
      const asked = await askForRefund(deps, callerOf(c), id, input, request);
      return accepted(c, refundRoute.getRoutingPath(), asked);
    }
    const attempt = keyedAttempt(headers, scope, input);
    const { body, isReplayed } = await refundPayment(deps, callerOf(c), id, input, attempt);
    return c.json(body, 200, replayHeader(isReplayed));
  });
}
