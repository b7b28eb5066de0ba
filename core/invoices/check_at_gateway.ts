/** Checks invoices at the gateway and applies its responses. */

import type { GatewayInvoice } from "../../db/invoices.ts";
import type { Caller } from "../auth/caller.ts";
import { GatewayAPIError, isResourceNotFound } from "../gateway/errors.ts";
import type { Invoice } from "../gateway/responses.ts";
import { MAX_CHECKS } from "../records/check_times.ts";
import { findOwn } from "../records/read.ts";
import type { RecordDeps } from "../records/record.ts";
import { applyReport, matchesInvoice, type Source } from "./apply_report.ts";
import { invoiceKind, problems } from "./invoice_record.ts";
import { type InvoiceView, viewInvoice } from "./views.ts";

/** Throws a `GatewayError` if the gateway gives no usable response. */
export async function checkAtGateway(
  deps: RecordDeps,
  known: GatewayInvoice,
  source: Source,
  notificationId: string | null = null,
): Promise<GatewayInvoice> {
  // The gateway finds invoices by its own id only.
  if (known.gateway_invoice_id === null) return known;
  for (let invoice = known, checks = 1;; checks++) {
    const answer = await requestInvoice(deps, invoice);
    const report = { answer, source, askedAtVersion: invoice.version, notificationId };
    const applied = await applyReport(deps, invoice, report);
    if (!applied.isReportStale || checks >= MAX_CHECKS) return applied.invoice;
    invoice = applied.invoice;
  }
}

async function requestInvoice(
  { gateway, log }: RecordDeps,
  invoice: GatewayInvoice,
): Promise<Invoice> {
  try {
    const { body, statusCode } = await gateway.getInvoice(invoice.gateway_invoice_id!);
    if (matchesInvoice(invoice, body)) return body;
    const error = new GatewayAPIError("The gateway's invoice differs from the one that was sent", {
      failure: "answered",
      outcome: "unknown",
      statusCode,
    });
    log.error("invoice_differs", error, { invoice_id: invoice.id });
    throw error;
  } catch (error) {
    // If the gateway does not know the invoice, usually the server key is wrong or the sandbox was
    // reset. It does not mean that the invoice was voided.
    if (isResourceNotFound(error)) {
      log.error("invoice_unknown_to_gateway", error, { invoice_id: invoice.id });
    }
    throw error;
  }
}

/** Checks the invoice at the gateway and returns its current state. */
export async function getInvoiceStatus(
  deps: RecordDeps,
  caller: Caller,
  id: string,
): Promise<InvoiceView> {
  const known = await findOwn(deps, invoiceKind, caller, id);
  try {
    return viewInvoice(await checkAtGateway(deps, known, "get_invoice_status"));
  } catch (error) {
    throw problems.checkFailed(known, "refused", error);
  }
}
