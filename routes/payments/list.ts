/** `GET /payments/`: the caller's payments, newest first. */

import { createRoute, z } from "@hono/zod-openapi";
import { oneOf, text } from "../../core/input_fields.ts";
import { PAYMENT_TYPES } from "../../core/payments/charge_input.ts";
import type { PaymentDeps } from "../../core/payments/deps.ts";
import { listPayments } from "../../core/payments/read.ts";
import { PAYMENT_STATUSES } from "../../core/payments/states.ts";
import { unsentExample } from "../../openapi/components.ts";
import { PaymentSummarySchema } from "../schemas/payment.ts";
import { PAYMENT_PAGE } from "../schemas/payment_examples.ts";
import { linkHeader, NEXT_PAGE, paging } from "../shared/page.ts";
import { basePathOf, optionalId } from "../shared/paths.ts";
import { COMMON_ERRORS, problems } from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";

const path = "/payments/";

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listPayments",
  summary: "List payments",
  description:
    "Your payments, newest first, in short; staff see everybody's. For overviews and books, and to " +
    "find a payment by your own `order_id`; to hear of changes, follow events instead of reading " +
    "the list again and again. Follow `Link` for the next page until there is none: payments that " +
    "arrive meanwhile shift nothing. A filter, `limit` or `cursor` that is not valid is " +
    "`validation_error`, and `errors` names it.",
  tags: ["Payments"],
  request: {
    query: z.object({
      payment_type: oneOf(PAYMENT_TYPES).optional().openapi({
        description: "Only payments of this type.",
        param: { examples: unsentExample("bank_transfer") },
      }),
      status: oneOf(PAYMENT_STATUSES).optional().openapi({
        description: "Only payments with this `transaction_status`.",
        param: { examples: unsentExample("settlement") },
      }),
      order_id: text(255).optional().openapi({
        description: "Only payments of this order: one, but for those of an invoice.",
        param: { examples: unsentExample("order-1017") },
      }),
      invoice_id: optionalId("Only payments by which this invoice was paid, or was to be."),
      subscription_id: optionalId("Only payments that this subscription made."),
      ...paging,
    }),
  },
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
    ...problems("validation_error", ...COMMON_ERRORS),
  },
});

export function addList(router: Router, deps: PaymentDeps): void {
  router.openapi(listRoute, async (c) => {
    const { cursor, ...query } = c.req.valid("query");
    const { payment_type, status, limit, ...parents } = query;
    const { payments, next } = await listPayments(deps, callerOf(c), {
      parents,
      paymentType: payment_type ?? null,
      status: status ?? null,
      limit,
      before: cursor ?? null,
    });
    return c.json(payments, 200, linkHeader(basePathOf(c, path) + path, query, next));
  });
}
