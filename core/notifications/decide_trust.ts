/** Decides whether a notification is trusted or the gateway has to confirm it. */

import type { GatewayPayment } from "../../db/payments/payments.ts";
import type { Transaction } from "../gateway/responses.ts";
import { isSnapApi } from "../gateway/snap_api.ts";
import { parseMoney } from "../money.ts";
import { previewStep } from "../payments/apply_report.ts";
import { impliesPaid, isStatus, type PaymentStatus } from "../payments/states.ts";
import { amountOf } from "../payments/transaction.ts";
import type { SignedNotification } from "./parse.ts";

export type TrustDecision =
  /** `duplicate` and `stale`: the notification cannot change the payment, even if it is forged. */
  | "duplicate"
  | "stale"
  | "trust"
  /** The gateway has to be asked. */
  | "confirm";

export function decideTrust(
  payment: GatewayPayment,
  notification: SignedNotification,
  confirm: "unproven" | "paid",
): TrustDecision {
  const { transaction, orderId, statusCode, grossAmount } = notification;
  // The transaction id is not signed, so a forged id could be stored with a payment that has none.
  const isSameTransaction = payment.transaction_id !== null &&
    payment.transaction_id === transaction.transaction_id;
  if (!isSameTransaction || !isStatus(transaction.transaction_status)) return "confirm";
  const step = previewStep(payment, transaction);
  if (step === "duplicate" || step === "stale") return step;
  const isProven = codeProvesStatus(payment, notification) &&
    hasExpectedAmount(payment, notification) && !containsRefunds(transaction) &&
    !isAmbiguous(orderId, statusCode, grossAmount);
  const mustConfirm = confirm === "paid" && impliesPaid(stateOf(transaction));
  return isProven && !mustConfirm ? "trust" : "confirm";
}

/**
 * The amount differs if the customer paid a fee on top. Then only the gateway knows both amounts.
 */
function hasExpectedAmount(
  payment: GatewayPayment,
  { grossAmount, transaction }: SignedNotification,
): boolean {
  const expected = payment.captured_amount ?? payment.gross_amount;
  return parseMoney(grossAmount) === expected && amountOf(transaction) === expected &&
    (transaction.currency ?? payment.currency) === payment.currency;
}

function containsRefunds({ refunds, refund_amount }: Transaction): boolean {
  return refunds.length > 0 || refund_amount !== null;
}

/**
 * The status is not signed, but the code is, and each code allows only a few statuses. A status is
 * trusted only if the code proves it. 201 is sent for a challenge as well as for a pending payment.
 * 200 is sent for an authorization, a captured card and a settlement. The settlement of a captured
 * card is not urgent, so it is confirmed. For DANA and newer virtual accounts 200 is sent while
 * they are pending, too.
 */
function codeProvesStatus(
  payment: GatewayPayment,
  { statusCode, transaction }: SignedNotification,
): boolean {
  if (payment.transaction_status !== "pending") return false;
  const { status, fraud } = stateOf(transaction);
  if (statusCode === "202") {
    return ENDED.includes(status) && (fraud ?? payment.fraud_status) === payment.fraud_status;
  }
  if (statusCode !== "200" || payment.is_hold) return false;
  if (payment.payment_type === "credit_card") return status === "capture" && fraud === "accept";
  return status === "settlement" && !isSnapApi(payment) &&
    (fraud ?? "accept") === "accept";
}

const ENDED: PaymentStatus[] = ["deny", "cancel", "expire"];

function stateOf({ transaction_status, fraud_status }: Transaction) {
  return { status: transaction_status as PaymentStatus, fraud: fraud_status };
}

/** The status codes that the gateway signs. */
const SIGNED_CODES = new Set(["200", "201", "202", "407"]);

const SIGNED_AMOUNT = /^[1-9]\d{0,12}\.\d\d$/;

/**
 * The gateway signs order id, code and amount as one text without separators: `A` + `200` +
 * `12005.00` equals `A2001` + `200` + `5.00`. A caller who chooses order ids could use the
 * signature of one order for another. True: the text could belong to another order, so the
 * signature proves nothing.
 */
export function isAmbiguous(orderId: string, statusCode: string, grossAmount: string): boolean {
  const text = orderId + statusCode + grossAmount;
  const longestAmount = 13 + ".00".length;
  for (let at = Math.max(1, text.length - longestAmount - 3); at < text.length - 3; at++) {
    if (at === orderId.length || !SIGNED_CODES.has(text.slice(at, at + 3))) continue;
    if (SIGNED_AMOUNT.test(text.slice(at + 3))) return true;
  }
  return false;
}
