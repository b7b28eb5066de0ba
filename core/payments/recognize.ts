/** Tells whether an answer of the gateway is about a payment, or about somebody else's. */

import type { GatewayPayment } from "../../db/payments.ts";
import type { Transaction } from "../gateway/responses.ts";
import { amountOf } from "./gateway_word.ts";
import { isStatus } from "./states.ts";

/** Whether the answer to our own charge is one: of this order, with a transaction in a state we know. */
export function answersCharge(payment: GatewayPayment, answer: Transaction): boolean {
  return Boolean(answer.transaction_id) && isStatus(answer.transaction_status) &&
    (answer.order_id ?? payment.order_id) === payment.order_id &&
    (answer.currency ?? payment.currency) === payment.currency &&
    (amountOf(answer) ?? payment.gross_amount) === payment.gross_amount;
}

/** Whether an answer is about the transaction that this payment is known to be. */
export function isAbout(payment: GatewayPayment, answer: Transaction): boolean {
  return answer.transaction_id !== null && answer.transaction_id === payment.transaction_id &&
    (answer.order_id ?? payment.order_id) === payment.order_id &&
    isStatus(answer.transaction_status);
}

/**
 * Whether a transaction found by its order id is the one that was to be made for this payment. Order
 * ids are anybody's; what only we can have put there is our own id.
 */
export function isOurs(payment: GatewayPayment, found: Transaction): boolean {
  return Boolean(found.transaction_id) && isStatus(found.transaction_status) &&
    bearsOurName(payment, found) &&
    (found.currency ?? payment.currency) === payment.currency &&
    isSameType(payment.payment_type, found.payment_type) && hasItsAmount(payment, found);
}

/** What is held may have been captured in part, wherever that was done. */
function hasItsAmount({ gross_amount, is_hold }: GatewayPayment, found: Transaction): boolean {
  const amount = amountOf(found) ?? NaN;
  return amount === gross_amount || (is_hold && amount > 0 && amount < gross_amount);
}

export function bearsOurName({ id }: GatewayPayment, { metadata }: Transaction): boolean {
  return metadata?.payment_ref === id;
}

/** A GoPay order that was paid by scanning may be called QRIS (G§3.7). */
function isSameType(ours: string, theirs: string | null): boolean {
  return ours === theirs || (ours === "gopay" && theirs === "qris");
}
