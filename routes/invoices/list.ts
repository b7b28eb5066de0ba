/** `GET /invoices/`: the caller's invoices, newest first. */

import { createRoute, z } from "@hono/zod-openapi";
import { oneOf } from "../../core/input_fields.ts";
import type { InvoiceDeps } from "../../core/invoices/deps.ts";
import { listInvoices } from "../../core/invoices/read.ts";
import { INVOICE_STATUSES } from "../../core/invoices/states.ts";
import { unsentExample } from "../../openapi/components.ts";
import { InvoiceSchema } from "../schemas/invoice.ts";
import { linkHeader, NEXT_PAGE, paging } from "../shared/page.ts";
import { basePathOf } from "../shared/paths.ts";
import { COMMON_ERRORS, problems } from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { INVOICE_PAGE } from "./examples.ts";

const path = "/invoices/";

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listInvoices",
  summary: "List invoices",
  description:
    "Your invoices, newest first; staff see everybody's. Use `status=overdue` to find whom to " +
    "remind. Follow `Link` for the next page until there is none: invoices that arrive " +
    "meanwhile shift nothing. A filter, `limit` or `cursor` that is not valid is " +
    "`validation_error`, and `errors` names it.",
  tags: ["Invoices"],
  request: {
    query: z.object({
      status: oneOf(INVOICE_STATUSES).optional().openapi({
        description: "Only invoices with this `status`.",
        param: { examples: unsentExample("overdue") },
      }),
      ...paging,
    }),
  },
  responses: {
    200: {
      description: "A page of invoices",
      headers: NEXT_PAGE,
      content: {
        "application/json": { schema: z.array(InvoiceSchema), examples: INVOICE_PAGE },
      },
    },
    ...problems("validation_error", ...COMMON_ERRORS),
  },
});

export function addList(router: Router, deps: InvoiceDeps): void {
  router.openapi(listRoute, async (c) => {
    const { status, limit, cursor } = c.req.valid("query");
    const filter = { status: status ?? null, limit, before: cursor ?? null };
    const { invoices, next } = await listInvoices(deps, callerOf(c), filter);
    const link = linkHeader(basePathOf(c, path) + path, { status, limit }, next);
    return c.json(invoices, 200, link);
  });
}
