/**
 * `/payments/…`: reads payments, and checks their status at the gateway. Adds the routes of
 * `list.ts` and `actions.ts`.
 */

import { createRoute, z } from "@hono/zod-openapi";
import { getStatus } from "../../core/payments/check_at_gateway.ts";
import { readPayment } from "../../core/payments/read.ts";
import { PaymentSchema } from "../../core/payments/schema.ts";
import { forCaller } from "../../core/payments/views.ts";
import type { Examples } from "../../core/fields/response.ts";
import type { Service } from "../../core/service.ts";
import { CHARGEBACKS } from "./chargeback_examples.ts";
import { CHARGED, PAYMENTS } from "../../core/payments/examples.ts";
import { SETTLED_TRANSACTION } from "./transaction_example.ts";
import {
  CHANGE_ERRORS,
  COMMON_ERRORS,
  GATEWAY_ERRORS,
  problems,
} from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import { addPaymentActions } from "./actions.ts";
import { addPaymentList } from "./list.ts";
import { paymentIdOf, PaymentPath } from "./requests.ts";

const readRoute = createRoute({
  method: "get",
  path: "/payments/{pk}/",
  operationId: "getPayment",
  summary: "Get a payment",
  description: "Returns the payment as stored by the service, without calling the gateway. The " +
    "gateway's notifications usually update it within seconds. Read it when the customer " +
    "returns from a bank or wallet, and check `is_paid` before you ship. For a payment of " +
    "another user, the error is `not_found`.",
  tags: ["Payments"],
  request: { params: PaymentPath },
  responses: {
    200: {
      description: "The payment",
      content: {
        "application/json": {
          schema: PaymentSchema,
          examples: {
            pending_virtual_account: CHARGED.pending_virtual_account,
            paid_virtual_account: PAYMENTS.paid_virtual_account,
            partly_refunded_gopay: PAYMENTS.partly_refunded_gopay,
            refunded_gopay: PAYMENTS.refunded_gopay,
            denied_card: CHARGED.denied_card,
            partly_charged_back_card: CHARGEBACKS.partly_charged_back_card,
            charged_back_card: CHARGEBACKS.charged_back_card,
          },
        },
      },
    },
    ...problems("not_found", ...COMMON_ERRORS),
  },
});

export const PaymentStatusCheckSchema = z.object({
  payment: PaymentSchema,
  gateway_response: z.record(z.string(), z.unknown()).nullable().openapi({
    description: "The gateway's response, unchanged except that its signature is removed; null " +
      "if the gateway has no such transaction.",
    example: {
      status_code: "200",
      transaction_id: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
      transaction_status: "settlement",
      gross_amount: "150000.00",
    },
  }),
}).openapi("PaymentStatusCheck", {
  description: "A payment, and the gateway's response about it.",
});

const STATUS_CHECKS = {
  paid: {
    summary: "Paid",
    value: {
      payment: PAYMENTS.paid_virtual_account.value,
      gateway_response: {
        ...SETTLED_TRANSACTION,
        status_message: "Success, transaction is found",
      },
    },
  },
  unknown: {
    summary: "The gateway has no such transaction",
    value: { payment: PAYMENTS.failed_qris.value, gateway_response: null },
  },
} satisfies Examples<z.output<typeof PaymentStatusCheckSchema>>;

const checkStatusRoute = createRoute({
  method: "get",
  path: "/payments/{pk}/check_status/",
  operationId: "checkPaymentStatus",
  summary: "Check a payment's status at the gateway",
  description:
    "Fetches the payment's current state from the gateway, updates the payment, and returns the " +
    "payment and the gateway's response. Use it when you cannot wait for the gateway's " +
    "notification, for example when the customer says they have paid. This call also returns the " +
    "saved token of a card (`gateway_response.saved_token_id`). Do not poll with it: the service " +
    "checks payments with missing notifications automatically.\n\n" +
    "If the gateway does not respond (`gateway_timeout`, `gateway_unreachable`) or limits the " +
    "request rate (`gateway_rate_limited`, with `Retry-After`), nothing changes: `GET " +
    "/payments/{pk}/` still returns the stored payment.",
  tags: ["Payments"],
  request: { params: PaymentPath },
  responses: {
    200: {
      description: "The updated payment, and the gateway's response",
      content: {
        "application/json": { schema: PaymentStatusCheckSchema, examples: STATUS_CHECKS },
      },
    },
    ...problems("not_found", ...GATEWAY_ERRORS, ...CHANGE_ERRORS),
  },
});

export function createPaymentRoutes(service: Service): Router {
  const router = createRouter();
  addPaymentList(router, service);
  router.openapi(readRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    return c.json(
      forCaller(service, callerOf(c), await readPayment(service, callerOf(c), id)),
      200,
    );
  });
  router.openapi(checkStatusRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    const { payment, gateway_response } = await getStatus(service, callerOf(c), id);
    return c.json({ payment: forCaller(service, callerOf(c), payment), gateway_response }, 200);
  });
  addPaymentActions(router, service);
  return router;
}
