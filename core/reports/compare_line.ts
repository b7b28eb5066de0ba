/** Compares a line of a report with the payment or refund that it is about. */

import type { ComparedLine, FileLine, LineCandidate } from "../../db/reconciliation_lines.ts";
import { chargebackAmount } from "../payments/views.ts";

type Outcome = Omit<ComparedLine, keyof FileLine>;

/**
 * `usedRefunds`: the refunds that earlier lines are about; the refund of this line is added. A payment
 * with the transaction id of the line but another order id is not the payment of the line.
 */
export function compareLine(
  line: FileLine,
  candidate: LineCandidate | undefined,
  usedRefunds: Set<string>,
): Outcome {
  const isSame = candidate !== undefined &&
    (line.order_id === null || line.order_id === candidate.order_id);
  if (!isSame) return MISSING;
  const found = { payment_id: candidate.id, refund_id: null };
  const { transaction_status: known_status, captured_amount, gross_amount } = candidate;
  if (line.kind === "refund") return compareRefund(line, candidate, usedRefunds);
  if (line.kind === "chargeback") {
    const known_amount = chargebackAmount(candidate);
    const result = !known_status.includes("chargeback")
      ? "status_differs"
      // Each chargeback of a payment has its own line, with a part of the amount.
      : known_amount !== null && line.amount <= known_amount
      ? "matched"
      : "amount_differs";
    return { ...found, known_amount, known_status, result };
  }
  if (line.kind === "status") {
    const result = line.status !== known_status
      ? "status_differs"
      : line.amount === gross_amount
      ? "matched"
      : "amount_differs";
    return { ...found, known_amount: gross_amount, known_status, result };
  }
  const result = captured_amount === null
    ? "status_differs"
    : captured_amount === line.amount
    ? "matched"
    : "amount_differs";
  return { ...found, known_amount: captured_amount, known_status, result };
}

const MISSING: Outcome = {
  result: "missing_here",
  payment_id: null,
  refund_id: null,
  known_amount: null,
  known_status: null,
};

/** Finds the refund by its key or, if the line has none, by its amount. */
function compareRefund(
  { refund_key, amount }: FileLine,
  { id, refunds }: LineCandidate,
  usedRefunds: Set<string>,
): Outcome {
  const free = refunds.filter((refund) => !usedRefunds.has(refund.id));
  const refund = refund_key === null
    ? free.find((each) => each.status === "succeeded" && each.amount === amount) ??
      free.find((each) => each.amount === amount)
    : free.find((each) => each.refund_key === refund_key);
  if (!refund) return { ...MISSING, payment_id: id };
  usedRefunds.add(refund.id);
  const result = refund.status !== "succeeded"
    ? "status_differs"
    : refund.amount === amount
    ? "matched"
    : "amount_differs";
  return {
    payment_id: id,
    refund_id: refund.id,
    known_amount: refund.amount,
    known_status: refund.status,
    result,
  };
}
