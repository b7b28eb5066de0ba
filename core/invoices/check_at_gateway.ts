/** Checks invoices at the gateway and applies its responses. */

import type { GatewayInvoice } from "../../db/billing/invoices.ts";
import type { Caller } from "../auth/caller.ts";
import { isResourceNotFound, unusableResponse } from "../gateway/errors.ts";
import type { JsonObject } from "../gateway/json.ts";
import type { GatewayResponse, Invoice } from "../gateway/responses.ts";
import { MAX_CHECKS } from "../records/check_times.ts";
import { findOwn } from "../records/read.ts";
import { actAs } from "../records/record.ts";
import type { Service } from "../service.ts";
import { applyReport, matchesInvoice, type Source } from "./apply_report.ts";
import { invoiceKind, problems } from "./invoice_record.ts";
import { type InvoiceView, viewInvoice } from "./views.ts";

export interface CheckedInvoice {
  invoice: GatewayInvoice;
  /** The gateway's response; null: the invoice has no gateway id yet, so no request was made. */
  raw: JsonObject | null;
}

/** Throws a `GatewayError` if the gateway gives no usable response. */
export async function checkAtGateway(
  service: Service,
  known: GatewayInvoice,
  source: Source,
  notificationId: string | null = null,
): Promise<CheckedInvoice> {
  // The gateway finds invoices by its own id only.
  if (known.gateway_invoice_id === null) return { invoice: known, raw: null };
  for (let invoice = known, checks = 1;; checks++) {
    const { body: answer, raw } = await requestInvoice(service, invoice);
    const report = { answer, source, askedAtVersion: invoice.version, notificationId };
    const applied = await applyReport(service, invoice, report);
    invoice = applied.invoice;
    if (!applied.isReportStale || checks >= MAX_CHECKS) return { invoice, raw };
  }
}

async function requestInvoice(
  { gateway, log }: Service,
  invoice: GatewayInvoice,
): Promise<GatewayResponse<Invoice>> {
  try {
    const answer = await gateway.getInvoice(invoice.gateway_invoice_id!);
    if (matchesInvoice(invoice, answer.body)) return answer;
    const error = unusableResponse(
      "The gateway's invoice differs from the one that was sent",
      answer.statusCode,
    );
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

export interface CheckedInvoiceStatus {
  invoice: InvoiceView;
  /** Null: the gateway has not confirmed the invoice yet, so its state was not requested. */
  gateway_response: Record<string, unknown> | null;
}

/** Checks the invoice at the gateway and returns its current state, with the gateway's response. */
export async function getInvoiceStatus(
  service: Service,
  caller: Caller,
  id: string,
): Promise<CheckedInvoiceStatus> {
  const asCaller = actAs(service, caller);
  const known = await findOwn(asCaller, invoiceKind, caller, id);
  try {
    const { invoice, raw } = await checkAtGateway(asCaller, known, "get_invoice_status");
    return { invoice: viewInvoice(invoice), gateway_response: raw };
  } catch (error) {
    throw problems.checkFailed(known, "refused", error);
  }
}
