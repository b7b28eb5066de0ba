/** `POST /payments/{pk}/…`: cancels, expires, refunds or captures a payment. */

import { createRoute, z } from "@hono/zod-openapi";
import { cancelPayment, capturePayment, expirePayment } from "../../core/payments/actions.ts";
import { enqueueRefund } from "../../core/payments/process_refund_async.ts";
import { refundPayment } from "../../core/payments/refund.ts";
import { PaymentSchema, RefundSchema } from "../../core/payments/schema.ts";
import { forCaller } from "../../core/payments/views.ts";
import { QUEUED_JOBS } from "../jobs/examples.ts";
import { PAYMENTS, REFUND_RESULTS } from "../../core/payments/examples.ts";
import { actionRequest, emptyBody, optionalBody } from "../../http/action.ts";
import {
  fingerprintRequest,
  REPLAY_HEADER,
  replayHeader,
  requestKeyOf,
  scopeOf,
} from "../../http/idempotency.ts";
import { accepted, AsyncHeaders, asyncResponse, prefersAsync } from "../jobs/prefer.ts";
import {
  ACTION_ERRORS,
  CHANGE_ERRORS,
  GATEWAY_ERRORS,
  KEYED_BODY_ERRORS,
  problems,
} from "../../http/problems/responses.ts";
import { callerOf, type Router } from "../../http/router.ts";
import type { Service } from "../../core/service.ts";
import {
  CAPTURES,
  CaptureSchema,
  paymentIdOf,
  PaymentPath,
  REFUND_REQUESTS,
  RefundInputSchema,
} from "./requests.ts";

export const UNKNOWN_OUTCOME =
  "An error with `outcome: unknown` means that the gateway did not confirm whether it processed " +
  "the request: read the payment, or resend the same request with the same `Idempotency-Key`";

const cancelRoute = createRoute({
  method: "post",
  path: "/payments/{pk}/cancel/",
  operationId: "cancelPayment",
  summary: "Cancel a payment",
  description: "Cancels a payment that is not settled yet. The status must be `pending`, " +
    "`authorize` (the authorization is released) or `capture` (the captured amount is released). " +
    "A settled payment cannot be cancelled: the error is `invalid_state` with the payment's " +
    "`transaction_status`; refund it instead. If the customer pays at the same time, the " +
    "gateway decides which comes first, and the response shows the result.\n\n" +
    `${UNKNOWN_OUTCOME}.`,
  tags: ["Payments"],
  middleware: [optionalBody],
  request: actionRequest(PaymentPath, emptyBody("cancelled_virtual_account")),
  responses: {
    200: {
      description: "The cancelled payment",
      headers: REPLAY_HEADER,
      content: {
        "application/json": {
          schema: PaymentSchema,
          examples: { cancelled_virtual_account: PAYMENTS.cancelled_virtual_account },
        },
      },
    },
    ...problems(...ACTION_ERRORS),
  },
});

const expireRoute = createRoute({
  method: "post",
  path: "/payments/{pk}/expire/",
  operationId: "expirePayment",
  summary: "Expire a payment",
  description:
    "Expires a `pending` payment now instead of at its `expiry_time`, so that the customer can " +
    "no longer pay it: for example when the item is sold out or the cart has changed. If the " +
    "customer paid first, the error is `invalid_state`, and the payment shows its new state. " +
    "Payments that reach their `expiry_time` expire without this call.\n\n" +
    `${UNKNOWN_OUTCOME}.`,
  tags: ["Payments"],
  middleware: [optionalBody],
  request: actionRequest(PaymentPath, emptyBody("expired_virtual_account")),
  responses: {
    200: {
      description: "The expired payment",
      headers: REPLAY_HEADER,
      content: {
        "application/json": {
          schema: PaymentSchema,
          examples: { expired_virtual_account: PAYMENTS.expired_virtual_account },
        },
      },
    },
    ...problems(...ACTION_ERRORS),
  },
});

export const RefundedSchema = z.object({
  payment: PaymentSchema,
  refund: RefundSchema,
}).openapi("RefundResult", { description: "A refund and the updated payment." });

const refundRoute = createRoute({
  method: "post",
  path: "/payments/{pk}/refund/",
  operationId: "refundPayment",
  summary: "Refund a payment",
  description:
    "Refunds a payment with status `settlement` or `partial_refund`, in full or in several " +
    "parts. Pending refunds reduce the remaining amount; an amount above it returns " +
    "`validation_error`. If nothing remains, or with any other status, the error is " +
    "`invalid_state`; a payment with status `capture` is not settled yet, so cancel it instead. " +
    "Partial refunds: cards, GoPay, ShopeePay, DANA, QRIS, Akulaku and Kredivo. Full refunds " +
    "only: OVO. Not refundable: bank transfers, Mandiri bills and convenience stores; the error " +
    "is `invalid_state`, and `no_refund_reason` of the payment says so before.\n\n" +
    "If the bank declines (`refund_denied`), `refund` has the details and the payment is " +
    "unchanged. With `outcome: unknown` the amount stays reserved until the service has checked " +
    "the result with the gateway, which it does automatically; resending the same request with " +
    "the same `Idempotency-Key` never refunds twice.\n\n" +
    "With `Prefer: respond-async` a background job performs the refund, and its `result` " +
    "contains this response.",
  tags: ["Payments"],
  middleware: [optionalBody],
  request: {
    ...actionRequest(PaymentPath, {
      schema: RefundInputSchema,
      description: "Omit the body to refund the full remaining amount.",
      examples: REFUND_REQUESTS,
    }),
    headers: AsyncHeaders,
  },
  responses: {
    200: {
      description: "The refund and the updated payment",
      headers: REPLAY_HEADER,
      content: { "application/json": { schema: RefundedSchema, examples: REFUND_RESULTS } },
    },
    ...asyncResponse({ queued_refund: QUEUED_JOBS.queued_refund }),
    ...problems(
      "not_found",
      "invalid_state",
      "refund_denied",
      ...KEYED_BODY_ERRORS,
      ...GATEWAY_ERRORS,
      ...CHANGE_ERRORS,
    ),
  },
});

const captureRoute = createRoute({
  method: "post",
  path: "/payments/{pk}/capture/",
  operationId: "capturePayment",
  summary: "Capture an authorized payment",
  description:
    "Captures a `credit_card` payment with status `authorize`, typically when the goods ship. A " +
    "charge with `authorize: true` creates such a payment. You can capture it once, in full or " +
    "in part, within 7 days; then the authorization expires. With any other status the error is " +
    "`invalid_state`; for an amount above the authorized amount it is `validation_error`. If " +
    "the bank declines (`capture_denied`), the payment is unchanged: retry or cancel it.\n\n" +
    `${UNKNOWN_OUTCOME}, which never captures twice.`,
  tags: ["Payments"],
  middleware: [optionalBody],
  request: actionRequest(PaymentPath, {
    schema: CaptureSchema,
    description: "Omit the body to capture the full authorized amount.",
    examples: CAPTURES,
  }),
  responses: {
    200: {
      description: "The captured payment",
      headers: REPLAY_HEADER,
      content: {
        "application/json": {
          schema: PaymentSchema,
          examples: {
            whole: PAYMENTS.captured_card_in_full,
            part: PAYMENTS.captured_card,
          },
        },
      },
    },
    ...problems(
      "not_found",
      "invalid_state",
      "capture_denied",
      ...KEYED_BODY_ERRORS,
      ...GATEWAY_ERRORS,
      ...CHANGE_ERRORS,
    ),
  },
});

export function addPaymentActions(router: Router, service: Service): void {
  router.openapi(cancelRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    const scope = scopeOf(cancelRoute.path, id);
    const requestKey = requestKeyOf(c.req.valid("header"), scope, c.req.valid("json"));
    const { body, isReplayed } = await cancelPayment(service, {
      caller: callerOf(c),
      id,
      requestKey,
    });
    return c.json(forCaller(service, callerOf(c), body), 200, replayHeader(isReplayed));
  });
  router.openapi(expireRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    const scope = scopeOf(expireRoute.path, id);
    const requestKey = requestKeyOf(c.req.valid("header"), scope, c.req.valid("json"));
    const { body, isReplayed } = await expirePayment(service, {
      caller: callerOf(c),
      id,
      requestKey,
    });
    return c.json(forCaller(service, callerOf(c), body), 200, replayHeader(isReplayed));
  });
  router.openapi(refundRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    const input = c.req.valid("json");
    const headers = c.req.valid("header");
    const scope = scopeOf(refundRoute.path, id);
    if (prefersAsync(headers)) {
      const key = headers["Idempotency-Key"] ?? null;
      const request = { key, ...fingerprintRequest(scope, input) };
      const enqueued = await enqueueRefund(service, callerOf(c), id, input, request);
      return accepted(c, refundRoute.getRoutingPath(), enqueued);
    }
    const requestKey = requestKeyOf(headers, scope, input);
    const { body, isReplayed } = await refundPayment(
      service,
      { caller: callerOf(c), id, requestKey },
      input,
    );
    const payment = forCaller(service, callerOf(c), body.payment);
    return c.json({ ...body, payment }, 200, replayHeader(isReplayed));
  });
  router.openapi(captureRoute, async (c) => {
    const id = paymentIdOf(c.req.valid("param"));
    const input = c.req.valid("json");
    const requestKey = requestKeyOf(c.req.valid("header"), scopeOf(captureRoute.path, id), input);
    const { body, isReplayed } = await capturePayment(
      service,
      { caller: callerOf(c), id, requestKey },
      input,
    );
    return c.json(forCaller(service, callerOf(c), body), 200, replayHeader(isReplayed));
  });
}
