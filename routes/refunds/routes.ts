/** `/refunds/…`: lists and reads the refunds of payments, and ends those that the bank refused. */

import { createRoute, z } from "@hono/zod-openapi";
import { markRefundDenied } from "../../core/payments/mark_refund_denied.ts";
import { readRefund } from "../../core/payments/read_refunds.ts";
import { RefundDetailsSchema } from "../../core/payments/schema.ts";
import type { RefundDetailsView } from "../../core/payments/views.ts";
import type { Example, Examples } from "../../core/fields/response.ts";
import { PAYMENTS } from "../../core/payments/examples.ts";
import { actionRequest, emptyBody, optionalBody } from "../../http/action.ts";
import { REPLAY_HEADER, replayHeader, requestKeyOf, scopeOf } from "../../http/idempotency.ts";
import { linkHeader, NEXT_PAGE } from "../../http/lists/page.ts";
import { basePathOf, parsePathId, pathId } from "../../http/paths.ts";
import { ACTION_ERRORS, COMMON_ERRORS, problems } from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import { readRefundPage, RefundListQuery } from "../../http/lists/refunds.ts";
import type { Service } from "../../core/service.ts";

const path = "/refunds/";

const { id: payment_id, order_id, refunds } = PAYMENTS.refunded_gopay.value;
const [PART, REST] = refunds.map((refund): RefundDetailsView => ({
  ...refund,
  payment_id,
  order_id,
  created_by: "api_key:gk_Zr4kQ2mW",
  created_by_name: "rina",
  updated_at: refund.created_at,
}));

const REFUNDS = {
  partial_refund: { summary: "A refund that succeeded", value: PART! },
  pending_refund: {
    summary: "The bank has not made the refund yet",
    value: { ...PART!, status: "pending", status_code: "201" },
  },
} satisfies Examples<RefundDetailsView>;

const DENIED = {
  marked_refund: {
    summary: "Staff have marked the refund as refused by the bank",
    value: {
      ...PART!,
      status: "denied",
      status_code: "201",
      status_message: "Marked as refused by the bank",
    },
  },
} satisfies Examples<RefundDetailsView>;

const RefundPath = z.object({ pk: pathId("The refund's `id`.") });

const REFUND_PAGE: Example<RefundDetailsView[]> = {
  summary: "Two refunds of one payment",
  value: [REST!, PART!],
};

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listRefunds",
  summary: "List refunds",
  description:
    "Returns the refunds of your payments, newest first; staff and viewers see the refunds of all " +
    "users. The list contains refunds requested here and, once the gateway has reported them, " +
    "refunds made in the gateway's dashboard. Use `status=pending` to find refunds that the bank " +
    "has not made yet. Follow `Link` for the next page until it is absent. If a filter, `limit` " +
    "or `cursor` is invalid, the error is `validation_error`, and `errors` names the parameter.",
  tags: ["Refunds"],
  request: { query: RefundListQuery },
  responses: {
    200: {
      description: "A page of refunds",
      headers: NEXT_PAGE,
      content: {
        "application/json": {
          schema: z.array(RefundDetailsSchema),
          examples: { page: REFUND_PAGE },
        },
      },
    },
    ...problems(...COMMON_ERRORS),
  },
});

const readRoute = createRoute({
  method: "get",
  path: "/refunds/{pk}/",
  operationId: "getRefund",
  summary: "Get a refund",
  description: "Returns the refund as stored by the service, without calling the gateway. A " +
    "`pending` refund is checked automatically; to check it now, use `GET " +
    "/payments/{pk}/check_status/`. For a refund of another user's payment, the error is " +
    "`not_found`.",
  tags: ["Refunds"],
  request: { params: RefundPath },
  responses: {
    200: {
      description: "The refund",
      content: { "application/json": { schema: RefundDetailsSchema, examples: REFUNDS } },
    },
    ...problems("not_found", ...COMMON_ERRORS),
  },
});

const markDeniedRoute = createRoute({
  method: "post",
  path: "/refunds/{pk}/mark-denied/",
  operationId: "markRefundDenied",
  summary: "Mark a refund as refused by the bank",
  description:
    "Ends a `pending` refund with `status_code` `201`, which the gateway has accepted and the bank " +
    "has refused: the refund becomes `denied`, and its amount can be refunded again. The gateway " +
    "does not report such a refusal, so mark a refund only if the bank or the gateway's support " +
    "has confirmed it: if the bank makes the refund after all, the customer is paid twice. The " +
    "service checks the payment at the gateway first. If the gateway lists the refund, it has " +
    "succeeded, and the error is `invalid_state`, as for every refund that does not wait at the " +
    "bank. Staff only; other callers get `forbidden`.",
  tags: ["Refunds"],
  middleware: [optionalBody],
  request: actionRequest(RefundPath, emptyBody("marked_refund")),
  responses: {
    200: {
      description: "The denied refund",
      headers: REPLAY_HEADER,
      content: { "application/json": { schema: RefundDetailsSchema, examples: DENIED } },
    },
    ...problems(...ACTION_ERRORS),
  },
});

export function createRefundRoutes(service: Service): Router {
  const router = createRouter();
  router.openapi(listRoute, async (c) => {
    const { cursor: _, ...query } = c.req.valid("query");
    const { refunds, next } = await readRefundPage(service, callerOf(c), c.req.valid("query"));
    return c.json(refunds, 200, linkHeader(basePathOf(c, path) + path, query, next));
  });
  router.openapi(readRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    return c.json(await readRefund(service, callerOf(c), id), 200);
  });
  router.openapi(markDeniedRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    const scope = scopeOf(markDeniedRoute.path, id);
    const requestKey = requestKeyOf(c.req.valid("header"), scope, c.req.valid("json"));
    const { body, isReplayed } = await markRefundDenied(service, {
      caller: callerOf(c),
      id,
      requestKey,
    });
    return c.json(body, 200, replayHeader(isReplayed));
  });
  return router;
}
