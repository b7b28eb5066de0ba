/** `/reconciliations/…`: compares reports of the gateway with the stored payments. */

import { createRoute, z } from "@hono/zod-openapi";
import { requireStaff } from "../../core/auth/caller.ts";
import { invalidField, ServiceError } from "../../core/errors.ts";
import { oneOf } from "../../core/fields/input.ts";
import {
  listDifferences,
  listReconciliations,
  MAX_FILE_BYTES,
  readReconciliation,
  tooLarge,
  uploadReport,
} from "../../core/reports/reconciliations.ts";
import { type ColumnNames, REPORT_COLUMNS } from "../../core/reports/report_file.ts";
import { unsentExample } from "../../openapi/components.ts";
import { linkHeader, NEXT_PAGE, paging } from "../../http/lists/page.ts";
import { basePathOf, locationHeader, parsePathId, pathId } from "../../http/paths.ts";
import { CHANGE_ERRORS, COMMON_ERRORS, problems } from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import type { Service } from "../../core/service.ts";
import { addResolve } from "./resolve.ts";
import {
  DIFFERENCE_PAGE,
  DifferenceResultSchema,
  DifferenceSchema,
  RECONCILIATION_PAGE,
  RECONCILIATIONS,
  ReconciliationSchema,
  ReconciliationSummarySchema,
} from "./schemas.ts";
import { addTakeOver } from "./take_over.ts";

const path = "/reconciliations/";

const FILE_EXAMPLE = "order_id,transaction_id,gross_amount,fee,net_amount,settlement_time\r\n" +
  "order-1017,be03df7d-2f97-4c8c-a53c-8959f1b67295,150000.00,880.00,149120.00,2026-03-05 10:12:09\r\n";

const uploadRoute = createRoute({
  method: "post",
  path,
  operationId: "createReconciliation",
  summary: "Reconcile a report of the gateway",
  description:
    "Stores a settlement or transaction report of the gateway and compares it with the payments " +
    "here, in the background. The file changes no payment. Each payment with a difference is " +
    "checked at the gateway: one per second, at most 1,000 for each file, or 100,000 with " +
    "`confirm_checks=true`. Staff only.\n\n" +
    "The file is CSV in UTF-8 with a header line, at most 64 MiB, and in each line at most 1,000 " +
    "cells and 65,536 characters; cells are separated by commas, semicolons or tabs. Columns are " +
    "found by their headers, such as `Order ID`, `Transaction ID`, `Gross Amount`, `Type`, " +
    "`Transaction Status`, `Refund Key`, `Fee`, `Net Amount` and `Settlement Time`; for other " +
    "headers, use `columns`. The amount and one of the ids are required. Times without a zone are those of Jakarta.\n\n" +
    "A file is used as a whole or not at all: if a line is invalid, the error is " +
    "`validation_error`, and `errors` names up to 20 lines by their numbers. If the same file was " +
    "uploaded before, with the same `columns`, the response is 200 with the existing result; with " +
    "`confirm_checks=true`, the checks above 1,000 are then queued. If the job of that file has " +
    "failed, it is queued again, and the response is 202. An `Idempotency-Key` is not needed and " +
    "not accepted.",
  tags: ["Reports"],
  request: {
    query: z.object({
      columns: z.string("must be sent only once").max(2_000, "must be at most 2000 characters")
        .transform(parseColumns).optional().openapi({
          type: "string",
          description: "The headers of columns that the service does not find itself, as JSON: " +
            `\`{"amount": "Nominal"}\`. Names: ${REPORT_COLUMNS.join(", ")}.`,
          param: { examples: unsentExample('{"amount": "Nominal"}') },
        }),
      confirm_checks: oneOf(["true", "false"]).optional().openapi({
        description: "`true`: up to 100,000 checks at the gateway may be queued, instead of 1,000.",
        param: { examples: unsentExample("true") },
      }),
    }),
    body: {
      required: true,
      content: {
        "text/csv": {
          schema: z.string(),
          examples: { report: { summary: "A report", value: FILE_EXAMPLE } },
        },
      },
    },
  },
  responses: {
    200: {
      description: "The same file was uploaded before",
      headers: locationHeader("reconciliation", path),
      content: { "application/json": { schema: ReconciliationSchema, examples: RECONCILIATIONS } },
    },
    202: {
      description: "The file is stored, and will be compared",
      headers: locationHeader("reconciliation", path),
      content: {
        "application/json": {
          schema: ReconciliationSchema,
          examples: { report: RECONCILIATIONS.queued },
        },
      },
    },
    ...problems("payload_too_large", "unsupported_media_type", ...CHANGE_ERRORS),
  },
});

const listRoute = createRoute({
  method: "get",
  path,
  operationId: "listReconciliations",
  summary: "List reconciliations",
  description:
    "Returns the reports that were uploaded, newest first, with their results. They are " +
    "deleted after the retention period. Follow `Link` for the next page until it is absent. " +
    "Staff and viewers only; for other callers, the error is `forbidden`.",
  tags: ["Reports"],
  request: { query: z.object(paging) },
  responses: {
    200: {
      description: "A page of reconciliations",
      headers: NEXT_PAGE,
      content: {
        "application/json": {
          schema: z.array(ReconciliationSummarySchema),
          examples: RECONCILIATION_PAGE,
        },
      },
    },
    ...problems("forbidden", ...COMMON_ERRORS),
  },
});

const params = z.object({ pk: pathId("The reconciliation's `id`.") });

const readRoute = createRoute({
  method: "get",
  path: "/reconciliations/{pk}/",
  operationId: "getReconciliation",
  summary: "Get a reconciliation",
  description: "Returns the status of the comparison, and the results. Staff and viewers only; " +
    "for other callers, the error is `forbidden`.",
  tags: ["Reports"],
  request: { params },
  responses: {
    200: {
      description: "The reconciliation",
      content: { "application/json": { schema: ReconciliationSchema, examples: RECONCILIATIONS } },
    },
    ...problems("not_found", "forbidden", ...COMMON_ERRORS),
  },
});

const differencesRoute = createRoute({
  method: "get",
  path: "/reconciliations/{pk}/differences/",
  operationId: "listReconciliationDifferences",
  summary: "List the differences of a reconciliation",
  description:
    "Returns the differences in the order of the file; payments that are missing in it come " +
    "first. Empty until the file is compared. Follow `Link` for the next page until it is absent. " +
    "Staff and viewers only; for other callers, the error is `forbidden`.",
  tags: ["Reports"],
  request: {
    params,
    query: z.object({
      result: DifferenceResultSchema.optional().openapi({
        param: {
          description: "Only differences with this `result`.",
          examples: unsentExample("missing_here"),
        },
      }),
      resolved: oneOf(["true", "false"]).optional().openapi({
        description: "`false`: only open differences. `true`: only resolved ones.",
        param: { examples: unsentExample("false") },
      }),
      limit: paging.limit,
      cursor: z.string("must be sent only once")
        .regex(/^-?[1-9]\d{0,8}$/, "must be a cursor from a Link header").transform(Number)
        .optional().openapi({
          type: "string",
          description: "Where the page starts. Copy the value from the URL in `Link`.",
          param: { examples: unsentExample("120") },
        }),
    }),
  },
  responses: {
    200: {
      description: "A page of differences",
      headers: NEXT_PAGE,
      content: {
        "application/json": { schema: z.array(DifferenceSchema), examples: DIFFERENCE_PAGE },
      },
    },
    ...problems("not_found", "forbidden", ...COMMON_ERRORS),
  },
});

export function createReconciliationRoutes(service: Service): Router {
  const router = createRouter();
  router.openapi(uploadRoute, async (c) => {
    requireStaff(callerOf(c));
    const { columns = {}, confirm_checks } = c.req.valid("query");
    const { headers, body } = c.req.raw;
    if (!/^text\/csv\s*(;|$)/i.test(headers.get("content-type") ?? "")) {
      throw new ServiceError("unsupported_media_type", {
        detail: "Send the report as text/csv; this operation is the only one that takes no JSON.",
      });
    }
    if (Number(headers.get("content-length") ?? 0) > MAX_FILE_BYTES) throw tooLarge();
    if (body === null) throw invalidField("body", "is empty; send the report as CSV");
    const options = { columns, isConfirmed: confirm_checks === "true" };
    const { reconciliation, isQueued } = await uploadReport(service, callerOf(c), body, options);
    const Location = `${basePathOf(c, path)}${path}${reconciliation.id}/`;
    return isQueued
      ? c.json(reconciliation, 202, { Location })
      : c.json(reconciliation, 200, { Location });
  });
  router.openapi(listRoute, async (c) => {
    const { cursor, limit } = c.req.valid("query");
    const page = { limit, before: cursor ?? null };
    const { reconciliations, next } = await listReconciliations(service, callerOf(c), page);
    const Link = linkHeader(basePathOf(c, path) + path, { limit }, next);
    return c.json(reconciliations, 200, Link);
  });
  router.openapi(readRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    return c.json(await readReconciliation(service, callerOf(c), id), 200);
  });
  router.openapi(differencesRoute, async (c) => {
    const id = parsePathId(c.req.valid("param").pk);
    const { cursor, result, resolved, limit } = c.req.valid("query");
    const isResolved = resolved === undefined ? null : resolved === "true";
    const filter = { result: result ?? null, isResolved, after: cursor ?? null, limit };
    const { differences, next } = await listDifferences(service, callerOf(c), id, filter);
    const url = `${basePathOf(c, "/reconciliations/:pk/differences/")}${path}${id}/differences/`;
    return c.json(
      differences,
      200,
      linkHeader(url, { result, resolved, limit }, next, (line) => line),
    );
  });
  addResolve(router, service);
  addTakeOver(router, service);
  return router;
}

function parseColumns(text: string, context: z.RefinementCtx): ColumnNames {
  try {
    return z.strictObject(
      Object.fromEntries(REPORT_COLUMNS.map((name) => [name, z.string().min(1).optional()])),
    ).parse(JSON.parse(text)) as ColumnNames;
  } catch {
    context.addIssue({
      code: "custom",
      message: `must be JSON such as {"amount": "Nominal"}; names: ${REPORT_COLUMNS.join(", ")}`,
    });
    return z.NEVER;
  }
}
