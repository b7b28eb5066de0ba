/** A transaction in the gateway's own words: to the caller, to one who asks, and in a webhook. */

import { wib } from "../engine/time.ts";
import { sign } from "../transactions/signature.ts";
import { money, refundedSum, type Transaction } from "../world/transaction.ts";
import type { Identity } from "../world/world.ts";
import type { View } from "./methods/method.ts";
import { METHODS } from "./methods/methods.ts";

/** The answer to a charge. */
export function chargeAnswer(world: Identity, transaction: Transaction, says: string) {
  return {
    status_code: statusCode(transaction, "operation"),
    status_message: says,
    ...common(world, transaction),
    ...expiry(transaction, "operation"),
    ...METHODS[transaction.method].fields(transaction, "operation", world),
  };
}

/** The answer to cancel, expire, approve, deny and capture. */
export function actionAnswer(world: Identity, transaction: Transaction, says: string) {
  return {
    status_code: statusCode(transaction, "operation"),
    status_message: says,
    ...common(world, transaction),
  };
}

/** The answer to one who asks for the status. */
export function statusAnswer(world: Identity, transaction: Transaction) {
  // DANA's own way, capitals included (G§3.11).
  const isPendingDana = transaction.method === "dana" && transaction.status === "pending";
  const code = isPendingDana ? "200" : statusCode(transaction, "status");
  return {
    status_code: code,
    status_message: statusMessage(transaction),
    ...full(world, transaction, "status", code),
    ...isPendingDana && { transaction_status: "PENDING" },
  };
}

export function notification(world: Identity, transaction: Transaction) {
  const code = statusCode(transaction, "notification");
  return {
    status_code: code,
    status_message: "midtrans payment notification",
    ...full(world, transaction, "notification", code),
  };
}

function full(world: Identity, transaction: Transaction, view: View, code: string) {
  const { orderId, amount, settledAt, customFields, metadata } = transaction;
  return {
    ...common(world, transaction),
    ...expiry(transaction, view),
    ...settledAt !== null && { settlement_time: wib(settledAt) },
    ...refundFields(transaction),
    ...METHODS[transaction.method].fields(transaction, view, world),
    ...customFields,
    ...metadata && { metadata },
    signature_key: sign(orderId, code, money(amount), world.merchant.serverKey),
  };
}

function common(world: Identity, transaction: Transaction) {
  const { id, orderId, amount, method, createdAt, status, fraud } = transaction;
  return {
    transaction_id: id,
    order_id: orderId,
    merchant_id: world.merchant.id,
    gross_amount: money(amount),
    currency: "IDR",
    payment_type: METHODS[method].paymentType,
    transaction_time: wib(createdAt),
    transaction_status: status as string,
    ...fraud !== null && { fraud_status: fraud },
  };
}

function expiry({ method, expiresAt }: Transaction, view: View) {
  if (expiresAt === null) return {};
  // The gateway's own slip of the pen (G§3.12).
  const name = method === "qris" && view === "operation" ? "expire_time" : "expiry_time";
  return { [name]: wib(expiresAt) };
}

function refundFields(transaction: Transaction) {
  if (transaction.refunds.length === 0) return {};
  return {
    refund_amount: money(refundedSum(transaction)),
    refunds: transaction.refunds.map((refund) => ({
      refund_chargeback_id: refund.id,
      refund_amount: money(refund.amount),
      created_at: wib(refund.createdAt),
      reason: refund.reason,
      refund_key: refund.key,
      refund_method: refund.isDirect ? "online" : "offline",
      ...refund.confirmedAt !== null && { bank_confirmed_at: wib(refund.confirmedAt) },
    })),
  };
}

function statusMessage({ method, status, message, details }: Transaction): string {
  const found = "Success, transaction is found";
  if (method !== "credit_card") return message ?? found;
  switch (status) {
    case "authorize":
    case "settlement":
      return "Success, Credit Card transaction is successful";
    case "capture":
      return details.isPreAuth
        ? "Success, Credit Card capture transaction is successful"
        : "Success, Credit Card transaction is successful";
    case "pending":
      return "Credit Card transaction is pending";
    case "cancel":
      return "Success, transaction is canceled";
    case "expire":
      return "Credit Card transaction is expired";
    case "failure":
      return "Credit Card transaction is failed";
    case "refund":
    case "partial_refund":
      return "Success, refund request is approved by the bank";
    default:
      return message ?? found;
  }
}

type State = Pick<Transaction, "status" | "fraud">;

export function statusCode({ status, fraud }: State, view: View): string {
  switch (status) {
    case "pending":
      return "201";
    case "capture":
    case "authorize":
      return fraud === "challenge" ? "201" : "200";
    case "deny":
    case "failure":
      return "202";
    case "cancel":
      return view === "notification" ? "202" : "200";
    case "expire":
      return view === "notification" ? "202" : "407";
    default:
      return "200";
  }
}
