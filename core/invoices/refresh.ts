/** Asks the gateway how an invoice stands, and takes its answer over. */

import type { GatewayInvoice } from "../../db/invoices.ts";
import { GatewayAPIError, isResourceNotFound } from "../gateway/errors.ts";
import type { Invoice } from "../gateway/responses.ts";
import type { RecordDeps } from "../records/deps.ts";
import { look } from "../records/look.ts";
import { hear, type Source } from "./gate.ts";
import { isAbout } from "./recognize.ts";

/** Throws a `GatewayError` where there is no answer that says anything. */
export async function refreshInvoice(
  deps: RecordDeps,
  known: GatewayInvoice,
  source: Source,
  notificationId: string | null = null,
): Promise<GatewayInvoice> {
  // There is no way to ask for one that the gateway has not given an id.
  if (known.gateway_invoice_id === null) return known;
  const { record } = await look(
    known,
    (invoice) => ask(deps, invoice),
    (invoice, answer) =>
      hear(deps, invoice, { answer, source, askedAt: invoice.version, notificationId }),
  );
  return record;
}

async function ask({ gateway, log }: RecordDeps, invoice: GatewayInvoice): Promise<Invoice> {
  const alert = (event: string, error: Error) =>
    log.error(event, error, { invoice_id: invoice.id });
  try {
    const { body, statusCode } = await gateway.getInvoice(invoice.gateway_invoice_id!);
    if (isAbout(invoice, body)) return body;
    const error = new GatewayAPIError("The gateway has this invoice otherwise than it was sent", {
      failure: "answered",
      outcome: "unknown",
      statusCode,
    });
    alert("invoice_differs", error);
    throw error;
  } catch (error) {
    // A wrong key, or a sandbox that began anew: no reason to take it for gone.
    if (isResourceNotFound(error)) alert("invoice_unknown_to_gateway", error);
    throw error;
  }
}
