/**
 * Decides whether a transaction at the gateway was created for a payment that has no transaction id
 * yet. The rule is explained in docs/gateway.md, "Matching transactions with payments".
 */

import { readOrderUse } from "../../db/payment_statements.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import type { Transaction } from "../gateway/responses.ts";
import { parseTransactionTime } from "../gateway/times.ts";
import type { PaymentDeps } from "./payment_record.ts";
import { amountOf } from "./transaction.ts";

/** What proves that a transaction belongs to a payment. */
export type Evidence =
  /** The transaction's metadata names the payment. Only this service can have put it there. */
  | "payment_ref"
  /**
   * The transaction names no payment, but all that it says agrees with the charge that was sent.
   */
  | "order_and_time";

export type TransactionMatch =
  | { kind: "ours"; evidence: Evidence }
  /** It was created for another payment, or by another system with the same gateway account. */
  | { kind: "other"; difference: Difference }
  /** The response contradicts itself or what is stored, or it is incomplete. */
  | { kind: "unclear"; difference: Difference };

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

/** Decides, and logs the evidence or the first difference. */
export async function matchTransaction(
  deps: PaymentDeps,
  payment: GatewayPayment,
  found: Transaction,
): Promise<TransactionMatch> {
  const match = await decide(deps, payment, found);
  const { kind, ...reason } = match;
  deps.log.info("transaction_found", { payment_id: payment.id, match: kind, ...reason });
  return match;
}

async function decide(
  deps: PaymentDeps,
  payment: GatewayPayment,
  found: Transaction,
): Promise<TransactionMatch> {
  const reference = found.metadata?.payment_ref ?? null;
  const isNamed = reference === payment.id;
  if (reference !== null && !isNamed) return { kind: "other", difference: "payment_ref" };
  if (!hasEveryMember(found)) return { kind: "unclear", difference: "incomplete" };
  const difference = findDifference(payment, found);
  if (difference) return { kind: isNamed ? "unclear" : "other", difference };
  if (isNamed) return { kind: "ours", evidence: "payment_ref" };
  return await decideWithoutReference(deps, payment, found);
}

/** Whether the response has the members that every transaction of the gateway has. */
function hasEveryMember(found: Transaction): boolean {
  return Boolean(found.transaction_id) && Boolean(found.transaction_status) &&
    found.payment_type !== null && amountOf(found) !== null;
}

/** Null: the transaction agrees with the charge that was sent. */
function findDifference(payment: GatewayPayment, found: Transaction): Difference | null {
  if ((found.currency ?? payment.currency) !== payment.currency) return "currency";
  if (!isSameType(payment.payment_type, found.payment_type)) return "payment_type";
  return hasChargedAmount(payment, found) ? null : "amount";
}

/** A GoPay charge that the customer paid by scanning its QR code is reported as QRIS. */
function isSameType(ours: string, theirs: string | null): boolean {
  return ours === theirs || (ours === "gopay" && theirs === "qris");
}

/** An authorization may have been captured in part, by this service or outside of it. */
function hasChargedAmount({ gross_amount, is_hold }: GatewayPayment, found: Transaction): boolean {
  const amount = amountOf(found) ?? NaN;
  return amount === gross_amount || (is_hold && amount > 0 && amount < gross_amount);
}

/** For a transaction that names no payment but agrees with the charge that was sent. */
async function decideWithoutReference(
  deps: PaymentDeps,
  payment: GatewayPayment,
  { order_id, transaction_id, transaction_time, metadata }: Transaction,
): Promise<TransactionMatch> {
  if (metadata?.midtrans_invoice_id || metadata?.subscription_ref) {
    return { kind: "other", difference: "link" };
  }
  const createdAt = parseTransactionTime(transaction_time);
  if (order_id === null || !createdAt) return { kind: "unclear", difference: "incomplete" };
  if (order_id !== payment.order_id) return { kind: "other", difference: "order_id" };
  if (!await wasSentAround(deps, payment, createdAt)) {
    return { kind: "other", difference: "transaction_time" };
  }
  const use = await deps.database.query(
    (sql) => readOrderUse(sql, payment, transaction_id!),
    "read use of order id",
  );
  if (!use.is_reserved) return { kind: "other", difference: "order_id" };
  if (use.taken_by_order === null) return { kind: "ours", evidence: "order_and_time" };
  // Another payment has this transaction. If that payment has a different order id, the response is
  // wrong, because a transaction has only one order id.
  const kind = use.taken_by_order === order_id ? "other" : "unclear";
  return { kind, difference: "transaction_id" };
}

/** The clocks of the database and of the gateway may differ by this much. */
const CLOCK_TOLERANCE_MS = 2 * 60_000;

/**
 * Whether the charge may have been sent at this time of the gateway. If the database's clock is
 * known to differ from the gateway's, so do the payment's times.
 */
async function wasSentAround(
  { clockCheck }: PaymentDeps,
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
