/** `GET /payments/{pk}/check_status/`: one payment, as the gateway has it this moment. */

import { createRoute, z } from "@hono/zod-openapi";
import type { PaymentDeps } from "../../core/payments/deps.ts";
import { getStatus } from "../../core/payments/get_status.ts";
import type { Examples } from "../schemas/common.ts";
import { PaymentSchema } from "../schemas/payment.ts";
import { PAYMENTS } from "../schemas/payment_examples.ts";
import { SETTLED_TRANSACTION } from "../schemas/transaction_example.ts";
import { COMMON_ERRORS, GATEWAY_ERRORS, problems } from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { paymentIdOf, PaymentPath } from "./payment_id.ts";

export const PaymentStatusCheckSchema = z.object({
  payment: PaymentSchema,
  gateway_response: z.record(z.string(), z.unknown()).nullable().openapi({
    description:
      "What the gateway said, word for word but for its signature; null where it knows " +
      "of no such transaction.",
    example: {
      status_code: "200",
      transaction_id: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
      transaction_status: "settlement",
      gross_amount: "150000.00",
    },
  }),
}).openapi("PaymentStatusCheck", {
  description: "A payment, and what the gateway says of it.",
});

const STATUS_CHECKS = {
  paid: {
    summary: "It was paid",
    value: {
      payment: PAYMENTS.paid_virtual_account.value,
      gateway_response: {
        ...SETTLED_TRANSACTION,
        status_message: "Success, transaction is found",
      },
    },
  },
  unknown: {
    summary: "The gateway knows of no such transaction",
    value: { payment: PAYMENTS.failed_qris.value, gateway_response: null },
  },
} satisfies Examples<z.output<typeof PaymentStatusCheckSchema>>;

const checkStatusRoute = createRoute({
  method: "get",
  path: "/payments/{pk}/check_status/",
  operationId: "checkPaymentStatus",
  summary: "Ask the gateway for a payment's status",
  description:
    "Fetches the payment's state from the gateway, takes it over, and answers with both. For " +
    "when you cannot wait for the gateway's report, as when the customer says that it was " +
    "paid; do not poll with it, for the service asks by itself for payments that nothing is " +
    "heard of. It is also where the saved token of a card is to be found " +
    "(`gateway_response.saved_token_id`).\n\n" +
    "Where the gateway does not answer (`gateway_timeout`, `gateway_unreachable`) or has had " +
    "too many requests (`gateway_rate_limited`, with `Retry-After`), nothing has changed: `GET " +
    "/payments/{pk}/` still tells what is known.",
  tags: ["Payments"],
  request: { params: PaymentPath },
  responses: {
    200: {
      description: "The payment, brought up to date, and the gateway's answer",
      content: {
        "application/json": { schema: PaymentStatusCheckSchema, examples: STATUS_CHECKS },
      },
    },
    ...problems("not_found", ...GATEWAY_ERRORS, ...COMMON_ERRORS),
  },
});

export function addCheckStatus(router: Router, deps: PaymentDeps): void {
  router.openapi(checkStatusRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    return c.json(await getStatus(deps, callerOf(c), id), 200);
  });
}
