/** `voidInvoice`: voids an invoice with the status `sent` or `overdue`. */

import type { GatewayInvoice } from "../../db/billing/invoices.ts";
import type { Voided } from "../gateway/responses.ts";
import type { RequestResult } from "../idempotency/keys.ts";
import { act, type Action, type ActionRequest } from "../records/act.ts";
import type { Service } from "../service.ts";
import { applyVoid } from "./apply_report.ts";
import { checkAtGateway } from "./check_at_gateway.ts";
import { invoiceKind, problems } from "./invoice_record.ts";
import { isOpen, VOIDABLE } from "./states.ts";
import type { InvoiceView } from "./views.ts";

export async function voidInvoice(
  service: Service,
  request: ActionRequest,
  reason: string | undefined,
): Promise<RequestResult<InvoiceView>> {
  return await act(service, invoiceKind, request, (asCaller) => voidAction(asCaller, reason));
}

function voidAction(service: Service, reason?: string): Action<GatewayInvoice, Voided> {
  return {
    requireAllowed: requireVoidable,
    isDone: ({ status }) => status === "void",
    async check(invoice, outcome) {
      try {
        return (await checkAtGateway(service, invoice, "void")).invoice;
      } catch (error) {
        throw problems.checkFailed(invoice, outcome, error);
      }
    },
    call({ id, gateway_invoice_id }) {
      const options = { idempotencyKey: `${id}:void` };
      return service.gateway.voidInvoice(gateway_invoice_id!, reason, options);
    },
    isWrongState: ({ statusCode }) => statusCode === "409",
    confirms: ({ body }) => body.success === true,
    apply: (invoice, _answer, key) => applyVoid(service, invoice, reason ?? null, key),
    // A concurrent void or payment may have ended the invoice. It then keeps the time of its last
    // check.
    whenUnknown: ({ status, check_at }) => isOpen(status) ? {} : { check_at },
  };
}

function requireVoidable(invoice: GatewayInvoice): void {
  if (VOIDABLE.includes(invoice.status)) return;
  const advice = invoice.status === "paid" ? " Refund its payment instead." : "";
  const detail = `An invoice with status ${invoice.status} cannot be voided.${advice}`;
  throw problems.invalidState(invoice, detail);
}
