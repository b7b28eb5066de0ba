/** How an invoice is sent to the gateway. */

import type { GatewayInvoice } from "../../db/invoices.ts";
import type { Invoice } from "../gateway/responses.ts";
import type { Sending } from "../records/send_creation.ts";
import type { InvoiceDeps } from "./deps.ts";
import { hear, hearRefusal } from "./gate.ts";
import { invoicePayload } from "./invoice_payload.ts";
import { isAbout } from "./recognize.ts";

export function sendingInvoices(deps: InvoiceDeps): Sending<GatewayInvoice, Invoice> {
  const { gateway, invoicePayments } = deps;
  return {
    // G§8.
    windowMs: 5 * 60_000,
    call: (invoice) =>
      gateway.createInvoice(invoicePayload(invoice, invoicePayments), {
        idempotencyKey: invoice.id,
      }),
    isAnswer: isAbout,
    async hear(invoice, answer, key) {
      const hearing = { answer, source: "create", askedAt: invoice.version, key } as const;
      return (await hear(deps, invoice, hearing)).record;
    },
    hearRefusal: (invoice, key) => hearRefusal(deps, invoice, key),
    isTaken: ({ statusCode }) => statusCode === "409",
  };
}
