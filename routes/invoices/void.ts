/** `POST /invoices/{pk}/void/`: takes an invoice back. */

import { createRoute } from "@hono/zod-openapi";
import type { InvoiceDeps } from "../../core/invoices/deps.ts";
import { voidInvoice } from "../../core/invoices/void.ts";
import { actionRequest, scopeOf } from "../action.ts";
import { callerOf } from "../app_env.ts";
import { OF_CALLERS, OF_GATEWAY, OF_INPUT } from "../codes.ts";
import { nullIsLeftOut, object, text } from "../fields.ts";
import { attemptOf, REPLAY_HEADER, replayHeader } from "../idempotency.ts";
import { optionalBody } from "../optional_body.ts";
import { idOf } from "../path_id.ts";
import { problems } from "../problem_answers.ts";
import type { Router } from "../router.ts";
import { InvoicePath } from "./read.ts";
import { InvoiceSchema } from "./schemas.ts";

const VoidInputSchema = nullIsLeftOut(object({
  reason: text(255).optional().openapi({ example: "Ordered twice" }),
})).openapi("VoidRequest");

const path = "/invoices/{pk}/void/";

const voidRoute = createRoute({
  method: "post",
  path,
  operationId: "voidInvoice",
  summary: "Void an invoice",
  description:
    "Takes back an invoice that was not paid: one that is `sent` or `overdue`. Should the customer " +
    "pay in the very same moment, the invoice ends as the gateway says, be that `paid`.",
  tags: ["Invoices"],
  middleware: [optionalBody],
  request: actionRequest(InvoicePath, VoidInputSchema, "Leave it out to give no reason."),
  responses: {
    200: {
      description: "The invoice, voided",
      headers: REPLAY_HEADER,
      content: { "application/json": { schema: InvoiceSchema } },
    },
    ...problems("not_found", "invalid_state", ...OF_INPUT, ...OF_GATEWAY, ...OF_CALLERS),
  },
});

export function addVoid(router: Router, deps: InvoiceDeps): void {
  router.openapi(voidRoute, async (c) => {
    const id = idOf(c.req.valid("param").pk);
    const input = c.req.valid("json");
    const attempt = attemptOf(c.req.valid("header"), scopeOf(path, id), input);
    const { body, isReplayed } = await voidInvoice(deps, callerOf(c), id, input.reason, attempt);
    return c.json(body, 200, replayHeader(isReplayed));
  });
}
