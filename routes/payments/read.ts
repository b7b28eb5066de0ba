/** `GET /payments/{pk}/`: one payment. */

import { createRoute } from "@hono/zod-openapi";
import type { PaymentDeps } from "../../core/payments/deps.ts";
import { readPayment } from "../../core/payments/read.ts";
import { PaymentSchema } from "../schemas/payment.ts";
import { CHARGED, PAYMENTS } from "../schemas/payment_examples.ts";
import { COMMON_ERRORS, problems } from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { paymentIdOf, PaymentPath } from "./payment_id.ts";

/** What becomes of a payment. */
const READ = {
  pending_virtual_account: CHARGED.pending_virtual_account,
  paid_virtual_account: PAYMENTS.paid_virtual_account,
  partly_refunded_gopay: PAYMENTS.partly_refunded_gopay,
  refunded_gopay: PAYMENTS.refunded_gopay,
  denied_card: CHARGED.denied_card,
};

const readRoute = createRoute({
  method: "get",
  path: "/payments/{pk}/",
  operationId: "getPayment",
  summary: "Get a payment",
  description:
    "The payment as it is known here, without asking the gateway, which reports changes by " +
    "itself within moments. Read it when the customer comes back from a bank or a wallet, and " +
    "before you deliver: `is_paid` is what counts. Somebody else's payment is `not_found`, as " +
    "if it did not exist.",
  tags: ["Payments"],
  request: { params: PaymentPath },
  responses: {
    200: {
      description: "The payment",
      content: { "application/json": { schema: PaymentSchema, examples: READ } },
    },
    ...problems("not_found", ...COMMON_ERRORS),
  },
});

export function addRead(router: Router, deps: PaymentDeps): void {
  router.openapi(readRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    return c.json(await readPayment(deps, callerOf(c), id), 200);
  });
}
