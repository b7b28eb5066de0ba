/** `POST /invoices/{pk}/void/`: takes an invoice back. */

import { createRoute } from "@hono/zod-openapi";
import { object, omitNulls, text } from "../../core/input_fields.ts";
import type { InvoiceDeps } from "../../core/invoices/deps.ts";
import { voidInvoice } from "../../core/invoices/void.ts";
import { InvoiceSchema } from "../schemas/invoice.ts";
import { actionRequest, optionalBody, scopeOf } from "../shared/action.ts";
import { keyedAttempt, REPLAY_HEADER, replayHeader } from "../shared/idempotency.ts";
import { idOf } from "../shared/paths.ts";
import {
  COMMON_ERRORS,
  GATEWAY_ERRORS,
  KEYED_BODY_ERRORS,
  problems,
} from "../shared/problem_responses.ts";
import { callerOf, type Router } from "../shared/router.ts";
import { INVOICES } from "./examples.ts";
import { InvoicePath } from "./read.ts";

const VoidInputSchema = omitNulls(object({
  reason: text(255).optional().openapi({
    description: "Why, for your books and the gateway's.",
    example: "Ordered twice",
  }),
})).openapi("VoidRequest", { description: "Why an invoice is taken back." });

const path = "/invoices/{pk}/void/";

const voidRoute = createRoute({
  method: "post",
  path,
  operationId: "voidInvoice",
  summary: "Void an invoice",
  description:
    "Takes back an invoice that was not paid, so that nobody can pay it any longer: one that " +
    "is `sent` or `overdue`. Anything else is `invalid_state`, with its `invoice_status`; what " +
    "was paid is refunded at its payment. Should the customer pay in the very same moment, the " +
    "invoice ends as the gateway says, be that `paid`.\n\n" +
    "An error with `outcome: unknown` means that the gateway did not say whether it was done: " +
    "read the invoice, or send the same request with the same `Idempotency-Key` again.",
  tags: ["Invoices"],
  middleware: [optionalBody],
  request: actionRequest(InvoicePath, {
    schema: VoidInputSchema,
    description: "Leave it out to give no reason.",
    examples: { reason: { summary: "With a reason", value: { reason: "Ordered twice" } } },
  }),
  responses: {
    200: {
      description: "The invoice, voided",
      headers: REPLAY_HEADER,
      content: {
        "application/json": {
          schema: InvoiceSchema,
          examples: { voided_invoice: INVOICES.voided_invoice },
        },
      },
    },
    ...problems(
      "not_found",
      "invalid_state",
      ...KEYED_BODY_ERRORS,
      ...GATEWAY_ERRORS,
      ...COMMON_ERRORS,
    ),
  },
});

export function addVoid(router: Router, deps: InvoiceDeps): void {
  router.openapi(voidRoute, async (c) => {
    const id = idOf(c.req.valid("param").pk);
    const input = c.req.valid("json");
    const attempt = keyedAttempt(c.req.valid("header"), scopeOf(path, id), input);
    const { body, isReplayed } = await voidInvoice(deps, callerOf(c), id, input.reason, attempt);
    return c.json(body, 200, replayHeader(isReplayed));
  });
}
