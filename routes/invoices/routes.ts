/** `/invoices/…`: lists, creates, reads, checks and voids invoices. */

import { createRoute, z } from "@hono/zod-openapi";
import { getInvoiceStatus } from "../../core/invoices/check_at_gateway.ts";
import { createInvoice } from "../../core/invoices/create.ts";
import { InvoiceInputSchema, VoidInputSchema } from "../../core/invoices/invoice_input.ts";
import { readInvoice } from "../../core/invoices/read.ts";
import { voidInvoice } from "../../core/invoices/void.ts";
import { InvoiceSchema, InvoiceStatusCheckSchema } from "../../core/invoices/schema.ts";
import { actionRequest, optionalBody } from "../../http/action.ts";
import {
  IdempotencyHeaders,
  REPLAY_HEADER,
  replayHeader,
  requestKeyOf,
  scopeOf,
} from "../../http/idempotency.ts";
import { filteredLinkHeader, NEXT_PAGE } from "../../http/lists/page.ts";
import { basePathOf, locationHeader, parsePathId, pathId } from "../../http/paths.ts";
import {
  ACTION_ERRORS,
  CHANGE_ERRORS,
  COMMON_ERRORS,
  GATEWAY_ERRORS,
  KEYED_BODY_ERRORS,
  problems,
} from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import type { Service } from "../../core/service.ts";
import {
  CREATED_INVOICES,
  INVOICE_PAGE,
  INVOICE_REQUESTS,
  INVOICE_STATUS_CHECKS,
  INVOICES,
} from "./examples.ts";
import { InvoiceListQuery, readInvoicePage } from "../../http/lists/invoices.ts";

const path = "/invoices/";

const InvoicePath = z.object({ pk: pathId("The invoice's `id`.") });

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listInvoices",
  summary: "List invoices",
  description:
    "Returns your invoices, newest first; staff and viewers see the invoices of all users. Use " +
    "`status=overdue` to find invoices that need a reminder. Follow `Link` for the next page " +
    "until it is absent; new invoices do not shift later pages. If a filter, `limit` or " +
    "`cursor` is invalid, the error is `validation_error`, and `errors` names the parameter.",
  tags: ["Invoices"],
  request: { query: InvoiceListQuery },
  responses: {
    200: {
      description: "A page of invoices",
      headers: NEXT_PAGE,
      content: {
        "application/json": { schema: z.array(InvoiceSchema), examples: INVOICE_PAGE },
      },
    },
    ...problems("forbidden", ...COMMON_ERRORS),
  },
});

const createInvoiceRoute = createRoute({
  method: "post",
  path,
  operationId: "createInvoice",
  summary: "Create an invoice",
  description:
    "Creates an invoice at the gateway, with a hosted page where the customer chooses a payment " +
    "method: send them `payment_link_url`. Use it when you do not know how the customer wants " +
    "to pay. When the customer pays, the invoice becomes `paid`, and the payment gets the " +
    "invoice's id as `invoice_id`.\n\n" +
    "The invoice is stored before the gateway is called. An error with `outcome: refused` means " +
    "that the gateway created nothing: fix the cause, and send the request with a new key. With " +
    "`outcome: unknown` the invoice may have been created: read it by the error's `invoice_id`, " +
    "or resend the same request with the same `Idempotency-Key`, which never creates a second " +
    "one. " +
    "`duplicate_order` means that the `order_id` is already in use; if the `invoice_number` is " +
    "already in use, the error is `validation_error`.",
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
          examples: CREATED_INVOICES,
        },
      },
    },
    ...problems("duplicate_order", ...KEYED_BODY_ERRORS, ...GATEWAY_ERRORS, ...CHANGE_ERRORS),
  },
});

const readRoute = createRoute({
  method: "get",
  path: "/invoices/{pk}/",
  operationId: "getInvoice",
  summary: "Get an invoice",
  description:
    "Returns the invoice as stored by the service: whether it is paid, and where the customer " +
    "can pay it. The gateway's notification of a payment usually arrives within seconds. To " +
    "learn of it, receive the event `invoice_paid`. For an invoice of another user, the error " +
    "is `not_found`.",
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

const checkStatusRoute = createRoute({
  method: "get",
  path: "/invoices/{pk}/check_status/",
  operationId: "checkInvoiceStatus",
  summary: "Check an invoice's status at the gateway",
  description:
    "Fetches the invoice's current state from the gateway, updates the invoice, and returns the " +
    "invoice and the gateway's response. Use it when you cannot wait for the gateway's " +
    "notification. Do not poll with it: the service checks invoices with missing notifications " +
    "automatically. If the gateway does not respond (`gateway_timeout`, `gateway_unreachable`) or " +
    "limits the request rate (`gateway_rate_limited`, with `Retry-After`), nothing changes. " +
    "Viewers get `forbidden`.",
  tags: ["Invoices"],
  request: { params: InvoicePath },
  responses: {
    200: {
      description: "The updated invoice, and the gateway's response",
      content: {
        "application/json": {
          schema: InvoiceStatusCheckSchema,
          examples: INVOICE_STATUS_CHECKS,
        },
      },
    },
    ...problems("not_found", ...GATEWAY_ERRORS, ...CHANGE_ERRORS),
  },
});

const voidRoute = createRoute({
  method: "post",
  path: "/invoices/{pk}/void/",
  operationId: "voidInvoice",
  summary: "Void an invoice",
  description:
    "Voids a `sent` or `overdue` invoice, so that it can no longer be paid. With any other " +
    "status the error is `invalid_state` with the `invoice_status`. To return the money of a " +
    "paid invoice, refund its payment. If the customer pays at the same time, the gateway " +
    "decides which comes first, and the status can become `paid`.\n\n" +
    "An error with `outcome: unknown` means that the gateway did not confirm whether it " +
    "processed the request: read the invoice, or resend the same request with the same " +
    "`Idempotency-Key`.",
  tags: ["Invoices"],
  middleware: [optionalBody],
  request: actionRequest(InvoicePath, {
    schema: VoidInputSchema,
    description: "Omit the body to void the invoice without a reason.",
    examples: { voided_invoice: { summary: "With a reason", value: { reason: "Ordered twice" } } },
  }),
  responses: {
    200: {
      description: "The voided invoice",
      headers: REPLAY_HEADER,
      content: {
        "application/json": {
          schema: InvoiceSchema,
          examples: { voided_invoice: INVOICES.voided_invoice },
        },
      },
    },
    ...problems(...ACTION_ERRORS),
  },
});

export function createInvoiceRoutes(service: Service): Router {
  const router = createRouter();
  router.openapi(listRoute, async (c) => {
    const { cursor: _, ...query } = c.req.valid("query");
    const { invoices, next } = await readInvoicePage(service, callerOf(c), c.req.valid("query"));
    const link = filteredLinkHeader(basePathOf(c, path) + path, query, next);
    return c.json(invoices, 200, link);
  });
  router.openapi(createInvoiceRoute, async (c) => {
    const input = c.req.valid("json");
    const requestKey = requestKeyOf(c.req.valid("header"), `POST ${path}`, input);
    const { body, isReplayed } = await createInvoice(service, callerOf(c), input, requestKey);
    const Location = `${basePathOf(c, path)}${path}${body.id}/`;
    return c.json(body, 201, { Location, ...replayHeader(isReplayed) });
  });
  router.openapi(readRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    return c.json(await readInvoice(service, callerOf(c), id), 200);
  });
  router.openapi(checkStatusRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    return c.json(await getInvoiceStatus(service, callerOf(c), id), 200);
  });
  router.openapi(voidRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    const input = c.req.valid("json");
    const requestKey = requestKeyOf(c.req.valid("header"), scopeOf(voidRoute.path, id), input);
    const request = { caller: callerOf(c), id, requestKey };
    const { body, isReplayed } = await voidInvoice(service, request, input.reason);
    return c.json(body, 200, replayHeader(isReplayed));
  });
  return router;
}
