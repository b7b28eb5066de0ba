/** `POST /invoices/`: a bill with a page to pay it on. */

import { createRoute } from "@hono/zod-openapi";
import { createInvoice } from "../../core/invoices/create.ts";
import type { InvoiceDeps } from "../../core/invoices/deps.ts";
import { InvoiceSchema } from "../schemas/invoice.ts";
import {
  IdempotencyHeaders,
  keyedAttempt,
  REPLAY_HEADER,
  replayHeader,
} from "../shared/idempotency.ts";
import { basePathOf, locationHeader } from "../shared/paths.ts";
import {
  COMMON_ERRORS,
  GATEWAY_ERRORS,
  KEYED_BODY_ERRORS,
  problems,
} from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { INVOICE_REQUESTS, INVOICES } from "./examples.ts";
import { InvoiceInputSchema } from "./input.ts";

const path = "/invoices/";

const createInvoiceRoute = createRoute({
  method: "post",
  path,
  operationId: "createInvoice",
  summary: "Create an invoice",
  description:
    "Makes a bill at the gateway, with a page where the customer pays it by whatever channel " +
    "they like: send them `payment_link_url`. For when you do not know how they want to pay, " +
    "or they are not there. When it is paid, the invoice becomes `paid` by itself, and what " +
    "was paid is a payment with its `invoice_id`.\n\n" +
    "The invoice is stored before the gateway is asked. An error with `outcome: refused` means " +
    "that nothing happened: mend the request and send it anew. With `outcome: unknown` it may " +
    "have been made: read it at `invoice_id`, or send the same request with the same " +
    "`Idempotency-Key` again, which never makes a second one. `duplicate_order` means that the " +
    "`order_id` was used before; an `invoice_number` that was is `validation_error`.",
  tags: ["Invoices"],
  request: {
    headers: IdempotencyHeaders,
    body: {
      required: true,
      content: { "application/json": { schema: InvoiceInputSchema, examples: INVOICE_REQUESTS } },
    },
  },
  responses: {
    201: {
      description: "The invoice",
      headers: { ...locationHeader("invoice", path), ...REPLAY_HEADER },
      content: {
        "application/json": {
          schema: InvoiceSchema,
          examples: { sent_invoice: INVOICES.sent_invoice },
        },
      },
    },
    ...problems("duplicate_order", ...KEYED_BODY_ERRORS, ...GATEWAY_ERRORS, ...COMMON_ERRORS),
  },
});

export function addCreate(router: Router, deps: InvoiceDeps): void {
  router.openapi(createInvoiceRoute, async (c) => {
    const input = c.req.valid("json");
    const attempt = keyedAttempt(c.req.valid("header"), `POST ${path}`, input);
    const { body, isReplayed } = await createInvoice(deps, callerOf(c), input, attempt);
    const Location = `${basePathOf(c, path)}${path}${body.id}/`;
    return c.json(body, 201, { Location, ...replayHeader(isReplayed) });
  });
}
