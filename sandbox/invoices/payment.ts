/** The payment page behind an invoice: a customer chooses how to pay. */

import { invalid, Refusal } from "../http/refusal.ts";
import { METHODS } from "../methods/methods.ts";
import { isFree, startTransaction } from "../transactions/charge.ts";
import type { MethodName } from "../transactions/transaction.ts";
import type { World } from "../world/world.ts";
import { findInvoice } from "./invoices.ts";

/** Requests of the payment page, by the method that the customer chooses there. */
const PAYABLE_BY: Partial<Record<MethodName, Record<string, unknown>>> = {
  bank_transfer: { bank_transfer: { bank: "bca" } },
  echannel: { echannel: { bill_info1: "Payment", bill_info2: "Invoice" } },
  gopay: {},
  shopeepay: {},
  qris: {},
  cstore: { cstore: { store: "indomaret" } },
};

export const INVOICE_METHODS = Object.keys(PAYABLE_BY) as MethodName[];

/** A customer follows the invoice's link and chooses how to pay. */
export function startPayment(world: World, id: string, method: MethodName) {
  const invoice = findInvoice(world, id);
  if (!["pending", "overdue"].includes(invoice.status)) {
    throw new Refusal(409, "Invoice cannot be paid");
  }
  const own = PAYABLE_BY[method];
  if (!own) throw invalid("payment_type is not supported");
  // A second try while the first can still be paid is a transaction of its own.
  const isFirst = isFree(world, invoice.orderId);
  const order_id = isFirst ? invoice.orderId : `${invoice.orderId}-${world.random.digits(10)}`;
  const request = {
    ...own,
    payment_type: method,
    transaction_details: { order_id, gross_amount: invoice.amount },
    metadata: { midtrans_invoice_id: invoice.id },
  };
  return startTransaction(world, METHODS[method], request, {
    cause: "invoice",
    invoiceId: invoice.id,
  }).transaction;
}
