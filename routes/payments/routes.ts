/** `/payments/…`: lists and reads payments, and checks their status at the gateway. */

import { createRoute, z } from "@hono/zod-openapi";
import type { Caller } from "../../core/auth/caller.ts";
import { oneOf, text } from "../../core/input_fields.ts";
import { PAYMENT_TYPES } from "../../core/payments/charge_input.ts";
import { getStatus } from "../../core/payments/check_at_gateway.ts";
import type { PaymentDeps } from "../../core/payments/payment_record.ts";
import { listPayments, type PaymentPage, readPayment } from "../../core/payments/read.ts";
import { PaymentSchema, PaymentSummarySchema } from "../../core/payments/schema.ts";
import { PAYMENT_STATUSES } from "../../core/payments/states.ts";
import { forCaller } from "../../core/payments/views.ts";
import type { Examples } from "../../core/response_fields.ts";
import { unsentExample } from "../../openapi/components.ts";
import { CHARGEBACKS } from "../schemas/chargeback_examples.ts";
import { CHARGED, PAYMENT_PAGE, PAYMENTS } from "../schemas/payment_examples.ts";
import { SETTLED_TRANSACTION } from "../schemas/transaction_example.ts";
import { linkHeader, NEXT_PAGE, paging } from "../shared/page.ts";
import { basePathOf, optionalId } from "../shared/paths.ts";
import {
  CHANGE_ERRORS,
  COMMON_ERRORS,
  GATEWAY_ERRORS,
  problems,
} from "../shared/problem_responses.ts";
import { callerOf, createRouter, type Router } from "../shared/router.ts";
import { addPaymentActions } from "./actions.ts";
import { paymentIdOf, PaymentPath } from "./requests.ts";

const listPath = "/payments/";

/** The export of payments has the same filters. */
export const PaymentListQuery = z.object({
  payment_type: oneOf(PAYMENT_TYPES).optional().openapi({
    description: "Only payments of this type.",
    param: { examples: unsentExample("bank_transfer") },
  }),
  status: oneOf(PAYMENT_STATUSES).optional().openapi({
    description: "Only payments with this `transaction_status`.",
    param: { examples: unsentExample("settlement") },
  }),
  order_id: text(255).optional().openapi({
    description: "Only payments of this order: one, and those that failed before it.",
    param: { examples: unsentExample("order-1017") },
  }),
  invoice_id: optionalId("Only payments of this invoice, including unsuccessful ones."),
  subscription_id: optionalId("Only payments created by this subscription."),
  ...paging,
});

const listRoute = createRoute({
  method: "get",
  path: listPath,
  operationId: "listPayments",
  summary: "List payments",
  description:
    "Returns summaries of your payments, newest first; staff see the payments of all users. Use " +
    "it for overviews and reconciliation, and to find a payment by your own `order_id`. To be " +
    "notified of changes, subscribe to events instead of polling. Follow `Link` for the next " +
    "page until it is absent; new payments do not shift later pages. If a filter, `limit` or " +
    "`cursor` is invalid, the error is `validation_error`, and `errors` names the parameter.",
  tags: ["Payments"],
  request: { query: PaymentListQuery },
  responses: {
    200: {
      description: "A page of payments",
      headers: NEXT_PAGE,
      content: {
        "application/json": {
          schema: z.array(PaymentSummarySchema),
          examples: { page: PAYMENT_PAGE },
        },
      },
    },
    ...problems(...COMMON_ERRORS),
  },
});

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

export function createPaymentRoutes(deps: PaymentDeps): Router {
  const router = createRouter();
  router.openapi(listRoute, async (c) => {
    const { cursor: _, ...query } = c.req.valid("query");
    const { payments, next } = await readPaymentPage(deps, callerOf(c), c.req.valid("query"));
    return c.json(payments, 200, linkHeader(basePathOf(c, listPath) + listPath, query, next));
  });
  router.openapi(readRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    return c.json(forCaller(callerOf(c), await readPayment(deps, callerOf(c), id)), 200);
  });
  router.openapi(checkStatusRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    const { payment, gateway_response } = await getStatus(deps, callerOf(c), id);
    return c.json({ payment: forCaller(callerOf(c), payment), gateway_response }, 200);
  });
  addPaymentActions(router, deps);
  return router;
}

export async function readPaymentPage(
  deps: PaymentDeps,
  caller: Caller,
  { payment_type, status, limit, cursor, ...parents }: z.output<typeof PaymentListQuery>,
): Promise<PaymentPage> {
  return await listPayments(deps, caller, {
    parents,
    paymentType: payment_type ?? null,
    status: status ?? null,
    limit,
    before: cursor ?? null,
  });
}
