/**
 * What is always true of a change of a payment and its refunds. `requireInvariants` checks it. A
 * row that was already wrong does not stop a change: what the gateway reports must be stored.
 */

import type { GatewayPayment, GatewayRefund } from "../../db/payments/payments.ts";
import { isAmount } from "../money.ts";
import { findReset } from "../records/invariants.ts";
import { sumByStatus } from "./merge_refunds.ts";
import { canFollow } from "./states.ts";

/** What would be wrong with the payment; null: nothing. `before` is null for a new payment. */
export function findViolation(
  payment: GatewayPayment,
  before: GatewayPayment | null,
): string | null {
  const { gross_amount, captured_amount, user_id } = payment;
  if (!isAmount(gross_amount)) return `gross_amount cannot be ${gross_amount}`;
  const isCaptured = captured_amount !== null && captured_amount !== before?.captured_amount;
  if (isCaptured && !(isAmount(captured_amount) && captured_amount <= gross_amount)) {
    return `captured_amount cannot be ${captured_amount} of ${gross_amount}`;
  }
  if (user_id === null && (payment.invoice_id ?? payment.subscription_id) !== null) {
    return "it belongs to an invoice or a subscription, but to no user";
  }
  if (!before) return null;
  const ownerChange = findReset(payment, before, ["user_id", "invoice_id", "subscription_id"]);
  if (ownerChange) return ownerChange;
  const isReleased = before.transaction_id !== null && payment.transaction_id === null;
  return (isReleased ? findReleaseViolation(payment) : findStepViolation(payment, before)) ??
    (payment.refunds === before.refunds ? null : findRefundViolation(payment, before));
}

/** A payment that was adopted without an owner gives its transaction to the payment of an owner. */
function findReleaseViolation(payment: GatewayPayment): string | null {
  const { user_id, transaction_status, is_refused } = payment;
  if (user_id !== null) return "transaction_id is removed although it has a user";
  return transaction_status === "failure" && is_refused
    ? null
    : `transaction_id is removed although its status is ${transaction_status}`;
}

function findStepViolation(payment: GatewayPayment, before: GatewayPayment): string | null {
  const { transaction_status: to, refunded_amount } = payment;
  const from = before.transaction_status;
  if (!canFollow(from, to) || (before.is_refused && from !== to)) {
    return `its status cannot go from ${from} to ${to}`;
  }
  if (!(refunded_amount >= before.refunded_amount)) {
    return `refunded_amount cannot go from ${before.refunded_amount} to ${refunded_amount}`;
  }
  return findReset(payment, before, ["transaction_id", "paid_at"]);
}

function findRefundViolation(payment: GatewayPayment, before: GatewayPayment): string | null {
  const { gross_amount, captured_amount, refunded_amount, reserved_amount, refunds } = payment;
  const known = new Map(before.refunds.map((refund) => [refund.id, refund]));
  for (const refund of refunds) {
    const wrong = findWrongMember(payment, refund, known.get(refund.id));
    if (wrong) return `the ${wrong} of refund ${refund.id} is wrong`;
  }
  const pending = sumByStatus(refunds, "pending");
  const added = pending - sumByStatus(before.refunds, "pending");
  if (reserved_amount !== pending && reserved_amount - before.reserved_amount !== added) {
    return `reserved_amount is ${reserved_amount}, but its pending refunds are ${pending}`;
  }
  const limit = Math.min(captured_amount ?? 0, gross_amount);
  return added > 0 && refunded_amount + pending > limit
    ? `${refunded_amount + pending} of ${limit} would be refunded`
    : null;
}

/** The first member that contradicts the payment or the refund as it is stored. */
function findWrongMember(
  payment: GatewayPayment,
  refund: GatewayRefund,
  known: GatewayRefund | undefined,
): keyof GatewayRefund | null {
  if (refund.payment_id !== payment.id) return "payment_id";
  if (refund.user_id !== payment.user_id && refund.user_id !== known?.user_id) return "user_id";
  if (!isAmount(refund.amount) || (known && refund.amount !== known.amount)) return "amount";
  return known?.status === "succeeded" && refund.status !== "succeeded" ? "status" : null;
}
