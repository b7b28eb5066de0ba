/** `/exports/…`: lists as CSV files. */

import { createRoute, z } from "@hono/zod-openapi";
import { oneOf } from "../../core/fields/input.ts";
import type { WalkCursor } from "../../core/lists/page.ts";
import { csvFormat } from "../../core/reports/csv.ts";
import { EXPORT_PAGE, type Exports } from "../../core/reports/export_stream.ts";
import { exportInvoices, exportPayments, exportRefunds } from "../../core/reports/exports.ts";
import { unsentExample } from "../../openapi/components.ts";
import { InvoiceListQuery } from "../../http/lists/invoices.ts";
import { PaymentListQuery, readPaymentPage } from "../../http/lists/payments.ts";
import { RefundListQuery } from "../../http/lists/refunds.ts";
import { COMMON_ERRORS, problems } from "../../http/problems/responses.ts";
import { callerOf, createRouter, type Router } from "../../http/router.ts";
import { readInvoices, readRefunds, sendFile } from "../../http/exports.ts";
import type { Service } from "../../core/service.ts";

/** An export has no pages. */
const WITHOUT_PAGES = { limit: true, cursor: true } as const;

const byteOrderMark = {
  bom: oneOf(["true", "false"]).optional().openapi({
    description:
      "`true`: the file begins with a byte order mark. Excel then reads letters such as " +
      "`é` correctly.",
    param: { examples: unsentExample("true") },
  }),
};

const DESCRIPTION =
  "The file is CSV (RFC 4180): UTF-8, comma, CRLF, one header line. Amounts are whole rupiah " +
  "without a decimal point, times are UTC (RFC 3339), and a missing value is an empty cell. Read " +
  "the columns by their names: later versions add columns. Staff and viewers get the records of " +
  "all users, and the additional column `user_id`.\n\n" +
  "A cell that a spreadsheet would run as a formula, because it begins with `=`, `+`, `-` or `@`, " +
  "gets an apostrophe (`'`) at the beginning; phone numbers such as `+62 812` and negative numbers " +
  "do not. A cell that begins with an apostrophe gets another one. To get the original text back, " +
  "remove one apostrophe from every cell that begins with one. Such a character after a semicolon " +
  "gets an apostrophe, too, because some spreadsheets begin a new cell there.\n\n" +
  "The service reads the records while you download, in the order of the list. If that is newest " +
  "first, records that are created meanwhile are not in the file. If the service cannot finish " +
  "the file, if your API key is revoked or your JWT expires, if you read nothing for a minute, or " +
  "after an hour, it resets the connection: a file is complete only if your HTTP client reports no " +
  "error. You can have 3 open exports at a time; above that, the error is `rate_limited`.";

const NAME_HEADER = {
  "Content-Disposition": {
    description: "The name of the file, for browsers.",
    required: true,
    schema: { type: "string" },
    example: 'attachment; filename="payments.csv"',
  },
} as const;

/** `example`: the beginning of a file. */
function csvResponse(example: string) {
  return {
    200: {
      description: "The file",
      headers: NAME_HEADER,
      content: {
        "text/csv": {
          schema: z.string(),
          examples: {
            file: { summary: "The beginning of a file, with some columns", value: example },
          },
        },
      },
    },
    ...problems("forbidden", ...COMMON_ERRORS),
  };
}

const paymentsRoute = createRoute({
  method: "get",
  path: "/exports/payments/",
  operationId: "exportPayments",
  summary: "Export payments",
  description: "Returns your payments as a CSV file, with the filters of `GET /payments/` except " +
    "`q`.\n\n" + DESCRIPTION,
  tags: ["Reports"],
  request: { query: PaymentListQuery.omit({ ...WITHOUT_PAGES, q: true }).extend(byteOrderMark) },
  responses: csvResponse(
    "id,order_id,payment_type,gross_amount,net_amount,transaction_status\r\n" +
      "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5,order-1017,gopay,150000,150000,settlement\r\n",
  ),
});

const refundsRoute = createRoute({
  method: "get",
  path: "/exports/refunds/",
  operationId: "exportRefunds",
  summary: "Export refunds",
  description: "Returns the refunds of your payments as a CSV file, with the filters of " +
    "`GET /refunds/`.\n\n" + DESCRIPTION,
  tags: ["Reports"],
  request: { query: RefundListQuery.omit(WITHOUT_PAGES).extend(byteOrderMark) },
  responses: csvResponse(
    "id,payment_id,order_id,amount,status\r\n" +
      "0197a3c4-0a1b-7c3d-8e4f-5a6b7c8d9e0f,0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5,order-1017," +
      "50000,succeeded\r\n",
  ),
});

const invoicesRoute = createRoute({
  method: "get",
  path: "/exports/invoices/",
  operationId: "exportInvoices",
  summary: "Export invoices",
  description: "Returns your invoices as a CSV file, without their items, with the filters of " +
    "`GET /invoices/`.\n\n" + DESCRIPTION,
  tags: ["Reports"],
  request: { query: InvoiceListQuery.omit(WITHOUT_PAGES).extend(byteOrderMark) },
  responses: csvResponse(
    "id,invoice_number,status,total_amount,customer_name,due_date\r\n" +
      "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5,INV-2026-0017,paid,150000,Budi,2026-03-31\r\n",
  ),
});

function formatOf(bom: "true" | "false" | undefined) {
  return csvFormat({ hasByteOrderMark: bom === "true" });
}

export function createExportRoutes(service: Service & { exports: Exports }): Router {
  const router = createRouter();
  const { exports } = service;
  router.openapi(paymentsRoute, async (c) => {
    const { bom, ...filters } = c.req.valid("query");
    const caller = callerOf(c);
    const source = exportPayments(service, caller, async (after: WalkCursor | null) => {
      const page = { limit: EXPORT_PAGE, cursor: after ?? undefined };
      const { payments, next } = await readPaymentPage(service, caller, { ...filters, ...page });
      return { items: payments, next };
    });
    return await sendFile(c, exports, "payments", source, formatOf(bom));
  });
  router.openapi(refundsRoute, async (c) => {
    const { bom, ...filters } = c.req.valid("query");
    const caller = callerOf(c);
    const source = exportRefunds(service, caller, readRefunds(service, caller, filters));
    return await sendFile(c, exports, "refunds", source, formatOf(bom));
  });
  router.openapi(invoicesRoute, async (c) => {
    const { bom, ...filters } = c.req.valid("query");
    const caller = callerOf(c);
    const source = exportInvoices(service, caller, readInvoices(service, caller, filters));
    return await sendFile(c, exports, "invoices", source, formatOf(bom));
  });
  return router;
}
