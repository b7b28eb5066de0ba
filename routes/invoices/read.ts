/** `GET /invoices/{pk}/`: one invoice, as it is known here. */

import { createRoute, z } from "@hono/zod-openapi";
import type { InvoiceDeps } from "../../core/invoices/deps.ts";
import { readInvoice } from "../../core/invoices/read.ts";
import { InvoiceSchema } from "../schemas/invoice.ts";
import { idOf, pathId } from "../shared/paths.ts";
import { COMMON_ERRORS, problems } from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { INVOICES } from "./examples.ts";

export const InvoicePath = z.object({ pk: pathId("The invoice's `id`.") });

const readRoute = createRoute({
  method: "get",
  path: "/invoices/{pk}/",
  operationId: "getInvoice",
  summary: "Get an invoice",
  description:
    "The invoice as it is known here: whether it is paid, and where the customer can pay it. " +
    "The service hears of its payment by itself, within moments; the event `invoice_paid` " +
    "tells you. Somebody else's invoice is `not_found`, as if it did not exist.",
  tags: ["Invoices"],
  request: { params: InvoicePath },
  responses: {
    200: {
      description: "The invoice",
      content: { "application/json": { schema: InvoiceSchema, examples: INVOICES } },
    },
    ...problems("not_found", ...COMMON_ERRORS),
  },
});

export function addRead(router: Router, deps: InvoiceDeps): void {
  router.openapi(readRoute, async (c) => {
    const id = idOf(c.req.valid("param").pk);
    return c.json(await readInvoice(deps, callerOf(c), id), 200);
  });
}
