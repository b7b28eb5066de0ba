/** Sends lists as CSV files. */

import type { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Caller } from "../core/auth/caller.ts";
import type { WalkCursor } from "../core/lists/page.ts";
import { EXPORT_PAGE, type Exports, type ExportSource } from "../core/reports/export_stream.ts";
import { exportInvoices, exportRefunds } from "../core/reports/exports.ts";
import type { Service } from "../core/service.ts";
import { type InvoiceListQuery, readInvoicePage } from "./lists/invoices.ts";
import { readRefundPage, type RefundListQuery } from "./lists/refunds.ts";
import { type AppEnv, callerOf } from "./router.ts";

/** Sends an export as a file. */
export async function sendFile<Cursor>(
  c: Context<AppEnv>,
  exports: Exports,
  name: string,
  source: ExportSource<Cursor>,
): Promise<Response> {
  const headers = {
    "Content-Type": "text/csv; charset=utf-8; header=present",
    "Content-Disposition": `attachment; filename="${name}.csv"`,
    // A proxy that buffers the file hides from the service that the reader is slow.
    "X-Accel-Buffering": "no",
  };
  // A response without a body is never cancelled, so the export would stay open.
  if (c.req.method === "HEAD") {
    exports.admit(callerOf(c));
    return new Response(null, { headers });
  }
  return new Response(await exports.open(callerOf(c), source), { headers });
}

/** The refunds with these filters. */
export function refundSource(
  service: Service,
  caller: Caller,
  filters: Omit<z.output<typeof RefundListQuery>, "limit" | "cursor">,
) {
  return exportRefunds(service, caller, async (after: string | null) => {
    const page = { limit: EXPORT_PAGE, cursor: after ?? undefined };
    const { refunds, next } = await readRefundPage(service, caller, { ...filters, ...page });
    return { items: refunds, next };
  });
}

/** The invoices with these filters. */
export function invoiceSource(
  service: Service,
  caller: Caller,
  filters: Omit<z.output<typeof InvoiceListQuery>, "limit" | "cursor">,
) {
  return exportInvoices(service, caller, async (after: WalkCursor | null) => {
    const page = { limit: EXPORT_PAGE, cursor: after ?? undefined };
    const { invoices, next } = await readInvoicePage(service, caller, { ...filters, ...page });
    return { items: invoices, next };
  });
}
