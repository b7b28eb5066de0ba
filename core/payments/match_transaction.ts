/**
 * Decides whether a transaction at the gateway was created for a payment that has no transaction id
 * yet. The rule is explained in docs/gateway.md, "Matching transactions with payments".
 */

import { readOrderUse } from "../../db/payments/statements.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import type { Transaction } from "../gateway/responses.ts";
import { parseTransactionTime } from "../gateway/times.ts";
import type { Service } from "../service.ts";
import { amountOf } from "./transaction.ts";

/** What proves that a transaction belongs to a payment. */
export type Evidence =
  /** The transaction's metadata names the payment. Only this service can have put it there. */
  | "payment_ref"
  /**
   * The transaction names no payment, but all that it says agrees with the charge that was sent.
   */
  | "order_and_time"
  /**
   * The notification about the transaction names the payment. The signature does not cover that, so
   * order id, type and amount must agree with the charge, but the time need not.
   */
  | "notified_payment_ref";

export type TransactionMatch =
  | { type: "ours"; evidence: Evidence }
  /** It was created for another payment, or by another system with the same gateway account. */
  | { type: "other"; difference: Difference }
  /**
   * It may have been created for the payment: the response contradicts itself or what is stored, it
   * is incomplete, or the amount may include a fee.
   */
  | { type: "unclear"; difference: Difference };

/** The first condition that the transaction does not meet. */
export type Difference =
  | "incomplete"
  | "payment_ref"
  | "currency"
  | "payment_type"
  | "amount"
  | "link"
  | "order_id"
  | "transaction_time"
  | "transaction_id";

type Metadata = Transaction["metadata"];

/**
 * Decides, and logs the evidence or the first difference. `notified`: the metadata in the
 * notification about the transaction, which status responses often lack.
 */
export async function matchTransaction(
  service: Service,
  payment: GatewayPayment,
  found: Transaction,
  notified: Metadata = null,
): Promise<TransactionMatch> {
  const match = await decide(service, payment, found, notified);
  const { type, ...reason } = match;
  service.log.info("transaction_found", { payment_id: payment.id, match: type, ...reason });
  return match;
}

/**
 * Whether a transaction that is not known to be the payment's may still turn out to be. Until the
 * charge is answered, a time that differs proves nothing: a clock may be wrong, or the request may
 * have been delayed.
 */
export function mayStillMatch(
  { transaction_status }: GatewayPayment,
  match: TransactionMatch,
): boolean {
  if (match.type !== "other") return match.type === "unclear";
  return match.difference === "transaction_time" && transaction_status === "pending";
}

async function decide(
  service: Service,
  payment: GatewayPayment,
  found: Transaction,
  notified: Metadata,
): Promise<TransactionMatch> {
  const reference = found.metadata?.payment_ref ?? null;
  const isNamed = reference === payment.id;
  if (reference !== null && !isNamed) return { type: "other", difference: "payment_ref" };
  const hasEveryMember = Boolean(found.transaction_id) && Boolean(found.transaction_status) &&
    found.payment_type !== null;
  const reported = amountOf(found);
  if (!hasEveryMember || reported === null) return { type: "unclear", difference: "incomplete" };
  // The notification may state the amount without the fee. The signature does not cover that, so it
  // can only explain an amount that is too high. Every difference is proven by the gateway's
  // response: a forged amount would otherwise have our transaction adopted as another payment.
  const original = amountOf({ ...found, metadata: { ...notified, ...found.metadata } });
  const isFeeExplained = original === payment.gross_amount && original < reported;
  const amount = isFeeExplained ? original : reported;
  const difference = findDifference(payment, found, amount);
  if (difference) return { type: isNamed ? "unclear" : "other", difference };
  if (!isNamed) return await decideWithoutReference(service, payment, found, { amount, notified });
  return amount > payment.gross_amount
    ? { type: "unclear", difference: "amount" }
    : { type: "ours", evidence: "payment_ref" };
}

/**
 * What proves that the transaction does not belong to the payment; null: nothing does. An amount
 * that is too high proves nothing, because it may include a fee that the customer paid.
 */
function findDifference(
  payment: GatewayPayment,
  found: Transaction,
  amount: number,
): Difference | null {
  if ((found.currency ?? payment.currency) !== payment.currency) return "currency";
  if (!isSameType(payment.payment_type, found.payment_type)) return "payment_type";
  // An authorization may have been captured in part, by this service or outside of it.
  const isEnough = amount >= payment.gross_amount || (payment.is_hold && amount > 0);
  return isEnough ? null : "amount";
}

/** A GoPay charge that the customer paid by scanning its QR code is reported as QRIS. */
function isSameType(ours: string, theirs: string | null): boolean {
  return ours === theirs || (ours === "gopay" && theirs === "qris");
}

/** For a transaction that names no payment, and has the type and at least the amount. */
async function decideWithoutReference(
  service: Service,
  payment: GatewayPayment,
  { order_id, transaction_id, transaction_time, metadata }: Transaction,
  { amount, notified }: { amount: number; notified: Metadata },
): Promise<TransactionMatch> {
  if (metadata?.midtrans_invoice_id || metadata?.subscription_ref) {
    return { type: "other", difference: "link" };
  }
  if (order_id === null) return { type: "unclear", difference: "incomplete" };
  if (order_id !== payment.order_id) return { type: "other", difference: "order_id" };
  const use = await service.database.query(
    (sql) => readOrderUse(sql, payment, transaction_id!),
    "read use of order id",
  );
  if (!use.is_reserved) return { type: "other", difference: "order_id" };
  if (use.taken_by_order !== null) {
    // Another payment has this transaction. If that payment has a different order id, the response
    // is wrong, because a transaction has only one order id.
    const type = use.taken_by_order === order_id ? "other" : "unclear";
    return { type, difference: "transaction_id" };
  }
  const createdAt = parseTransactionTime(transaction_time);
  const isInTime = createdAt !== null && await wasSentAround(service, payment, createdAt);
  const hasFee = amount > payment.gross_amount;
  if (isInTime && !hasFee) return { type: "ours", evidence: "order_and_time" };
  if (notified?.payment_ref === payment.id && !hasFee) {
    return { type: "ours", evidence: "notified_payment_ref" };
  }
  if (!createdAt) return { type: "unclear", difference: "incomplete" };
  return isInTime
    ? { type: "unclear", difference: "amount" }
    : { type: "other", difference: "transaction_time" };
}

/** The clocks of the database and of the gateway may differ by this much. */
const CLOCK_TOLERANCE_MS = 2 * 60_000;

/**
 * Whether the charge may have been sent at this time of the gateway. If the database's clock is
 * known to differ from the gateway's, so do the payment's times.
 */
async function wasSentAround(
  { clockCheck }: Service,
  payment: GatewayPayment,
  time: Date,
): Promise<boolean> {
  if (isWhileSent(payment, time.getTime())) return true;
  const { gateway } = await clockCheck.measure();
  return isWhileSent(payment, time.getTime() + (gateway ?? 0));
}

/** Whether the time lies between the first and the last time that the charge was sent. */
function isWhileSent({ created_at, sent_at }: GatewayPayment, time: number): boolean {
  // The charge is first sent right after the payment is inserted.
  return time >= created_at.getTime() - CLOCK_TOLERANCE_MS &&
    time <= sent_at.getTime() + CLOCK_TOLERANCE_MS;
}
