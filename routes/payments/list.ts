/** `GET /payments/`: lists payments and searches them. */

import { createRoute, z } from "@hono/zod-openapi";
import { PaymentSummarySchema } from "../../core/payments/schema.ts";
import { CHARGED, PAYMENTS } from "../../core/payments/examples.ts";
import { filteredLinkHeader, NEXT_PAGE } from "../../http/lists/page.ts";
import { basePathOf } from "../../http/paths.ts";
import { COMMON_ERRORS, problems } from "../../http/problems/responses.ts";
import { callerOf, type Router } from "../../http/router.ts";
import {
  findPayments,
  PaymentListQuery,
  SEARCH_HEADERS,
  searchHeaders,
} from "../../http/lists/payments.ts";
import type { Service } from "../../core/service.ts";

const path = "/payments/";

const PAGE = {
  summary: "Two payments",
  value: [
    {
      ...CHARGED.pending_gopay.value,
      id: "0197a3c7-02b1-7f3c-8d55-1e6a9c0b4d72",
      order_id: "order-1894",
    },
    PAYMENTS.paid_virtual_account.value,
  ].map((payment) => PaymentSummarySchema.parse(payment)),
};

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listPayments",
  summary: "List payments",
  description:
    "Returns summaries of your payments, newest first; staff and viewers see the payments of all " +
    "users. Use it for overviews and reconciliation, and to find a payment by your own " +
    "`order_id`, by the customer, or by a search text (`q`). To learn of changes, " +
    "receive events instead of polling. Follow `Link` for the next page until it is absent; " +
    "new payments do not shift later pages. If few payments match several filters, a page can " +
    "have fewer than `limit` payments, or none, and still a `Link`: follow it. If a filter, " +
    "`limit` or `cursor` is invalid, the error is `validation_error`, and `errors` names the " +
    "parameter.",
  tags: ["Payments"],
  request: { query: PaymentListQuery },
  responses: {
    200: {
      description: "A page of payments",
      headers: { ...NEXT_PAGE, ...SEARCH_HEADERS },
      content: {
        "application/json": {
          schema: z.array(PaymentSummarySchema),
          examples: { page: PAGE },
        },
      },
    },
    ...problems("forbidden", ...COMMON_ERRORS),
  },
});

export function addPaymentList(router: Router, service: Service): void {
  router.openapi(listRoute, async (c) => {
    const query = c.req.valid("query");
    const { payments, next, search } = await findPayments(service, callerOf(c), query);
    const { cursor: _, ...filter } = query;
    return c.json(payments, 200, {
      ...filteredLinkHeader(basePathOf(c, path) + path, filter, next),
      ...searchHeaders(search),
    });
  });
}
