/** Sends lists as files. */

import type { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Caller } from "../core/auth/caller.ts";
import type { InvoiceView } from "../core/invoices/views.ts";
import type { WalkCursor } from "../core/lists/page.ts";
import type { RefundDetailsView } from "../core/payments/views.ts";
import { EXPORT_PAGE, type Exports, type ExportSource } from "../core/reports/export_stream.ts";
import type { ReadList } from "../core/reports/exports.ts";
import type { FileFormat } from "../core/reports/file_format.ts";
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
  format: FileFormat,
): Promise<Response> {
  const headers = {
    "Content-Type": format.contentType,
    "Content-Disposition": `attachment; filename="${name}.${format.extension}"`,
    // A proxy that buffers the file hides from the service that the reader is slow.
    "X-Accel-Buffering": "no",
  };
  // A response without a body is never cancelled, so the export would stay open.
  if (c.req.method === "HEAD") {
    exports.admit(callerOf(c));
    return new Response(null, { headers });
  }
  return new Response(await exports.open(callerOf(c), source, format), { headers });
}

/** The refunds with these filters. */
export function readRefunds(
  service: Service,
  caller: Caller,
  filters: Omit<z.output<typeof RefundListQuery>, "limit" | "cursor">,
): ReadList<RefundDetailsView, string> {
  return async (after) => {
    const page = { limit: EXPORT_PAGE, cursor: after ?? undefined };
    const { refunds, next } = await readRefundPage(service, caller, { ...filters, ...page });
    return { items: refunds, next };
  };
}

/** The invoices with these filters. */
export function readInvoices(
  service: Service,
  caller: Caller,
  filters: Omit<z.output<typeof InvoiceListQuery>, "limit" | "cursor">,
): ReadList<InvoiceView, WalkCursor> {
  return async (after) => {
    const page = { limit: EXPORT_PAGE, cursor: after ?? undefined };
    const { invoices, next } = await readInvoicePage(service, caller, { ...filters, ...page });
    return { items: invoices, next };
  };
}
