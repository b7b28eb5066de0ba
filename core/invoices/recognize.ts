/** Tells whether an answer of the gateway is about an invoice, or about somebody else's. */

import type { GatewayInvoice } from "../../db/invoices.ts";
import type { Invoice } from "../gateway/responses.ts";
import { parseMoney } from "../money.ts";
import { statusAtGateway } from "./states.ts";

/** Of this order and this amount, in a state we know: a cheaper one is another. */
export function isAbout(invoice: GatewayInvoice, answer: Invoice): boolean {
  return answer.id !== null && answer.id === (invoice.gateway_invoice_id ?? answer.id) &&
    answer.order_id === invoice.order_id &&
    (answer.invoice_number ?? invoice.invoice_number) === invoice.invoice_number &&
    parseMoney(answer.gross_amount) === invoice.total_amount &&
    statusAtGateway(answer.status, invoice.due_at, invoice.created_at) !== null;
}
