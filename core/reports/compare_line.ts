/** Compares a line of a report with the payment or refund that it is about. */

import type {
  ComparedLine,
  EarlierLine,
  FileLine,
  LineCandidate,
} from "../../db/reports/reconciliation_lines.ts";
import type { LineResult } from "../../db/reports/reconciliations.ts";
import { chargebackAmount } from "../payments/views.ts";
import { hasFailed } from "./report_file.ts";

type Outcome = Omit<ComparedLine, keyof FileLine>;

/**
 * How many lines are compared with one payment. Only a broken file has more; comparing
 * all of them with each other would take too long.
 */
export const MAX_LINES_OF_PAYMENT = 200;

/**
 * `earlier`: the lines of this and other files that were compared with the same payment before. A
 * settlement, a refund, a chargeback or a status that they have already is `listed_twice`. A
 * payment with the transaction id of the line but another order id is not the payment of the line.
 */
export function compareLine(
  line: FileLine,
  candidate: LineCandidate | undefined,
  earlier: readonly EarlierLine[],
): Outcome {
  const isSame = candidate !== undefined &&
    (line.order_id === null || line.order_id === candidate.order_id);
  if (!isSame || earlier.some((each) => isOtherTransaction(line, each))) return MISSING;
  const sameKind = earlier.filter(({ kind }) => kind === line.kind);
  const { id: payment_id, transaction_status: known_status } = candidate;
  const found = { payment_id, refund_id: null, known_status };
  if (earlier.length >= MAX_LINES_OF_PAYMENT) {
    return { ...found, known_amount: null, result: "listed_twice" };
  }
  if (line.kind === "refund") return compareRefund(line, candidate, sameKind);
  if (line.kind === "chargeback") {
    const known_amount = chargebackAmount(candidate);
    return { ...found, known_amount, result: compareChargeback(line, candidate, sameKind) };
  }
  if (line.kind === "status") {
    const { gross_amount: known_amount } = candidate;
    // A report of several days can have a transaction with each of its statuses.
    const isRepeated = sameKind.some(({ status }) => status === line.status);
    const result = isRepeated
      ? "listed_twice"
      : line.status !== known_status
      ? "status_differs"
      : compareAmount(line, known_amount);
    return { ...found, known_amount, result };
  }
  const { captured_amount: known_amount } = candidate;
  const result = sameKind.some((each) => !isOtherPaidStatus(line, each))
    ? "listed_twice"
    : known_amount === null || isOnlyReversedThere(line, known_status)
    ? "status_differs"
    : compareAmount(line, known_amount);
  return { ...found, known_amount, result };
}

/**
 * The line of a payment can name its latest status: a refund or chargeback that is unknown here.
 */
function isOnlyReversedThere({ status }: FileLine, known: string): boolean {
  return ["refund", "chargeback"].some((name) => status?.includes(name) && !known.includes(name));
}

const MISSING: Outcome = {
  result: "missing_here",
  payment_id: null,
  refund_id: null,
  known_amount: null,
  known_status: null,
};

/**
 * A payment without a transaction id, because the charge got no response, is found by its order id.
 * It is at most one of the order's transactions.
 */
function isOtherTransaction({ transaction_id }: FileLine, earlier: EarlierLine): boolean {
  return transaction_id !== null && earlier.transaction_id !== null &&
    transaction_id !== earlier.transaction_id;
}

/** A report of several days can have a card payment with both statuses. */
function isOtherPaidStatus({ status }: FileLine, earlier: EarlierLine): boolean {
  const statuses = [status, earlier.status];
  return statuses.includes("capture") && statuses.includes("settlement");
}

function compareAmount({ amount }: FileLine, known: number): LineResult {
  return amount === known ? "matched" : "amount_differs";
}

/**
 * Each chargeback of a payment has its own line, with a part of the amount. Two parts can be equal,
 * so a line is only a repetition if all lines together exceed the amount.
 */
function compareChargeback(
  { amount }: FileLine,
  candidate: LineCandidate,
  earlier: readonly EarlierLine[],
): LineResult {
  if (!candidate.transaction_status.includes("chargeback")) return "status_differs";
  const known = chargebackAmount(candidate);
  const matched = earlier.filter(({ result }) => result === "matched")
    .reduce((sum, each) => sum + each.amount, 0);
  if (known !== null && matched + amount <= known) return "matched";
  return earlier.some((each) => each.amount === amount) ? "listed_twice" : "amount_differs";
}

/** Finds the refund by its key or, if the line has none, by its amount. */
function compareRefund(
  { refund_key, amount, status }: FileLine,
  { id, refunds }: LineCandidate,
  earlier: readonly EarlierLine[],
): Outcome {
  const used = new Set(earlier.map(({ refund_id }) => refund_id));
  const fitting = refunds.filter((each) =>
    refund_key === null ? each.amount === amount : each.refund_key === refund_key
  );
  const free = fitting.filter((each) => !used.has(each.id));
  const hasSucceeded = ({ status }: LineCandidate["refunds"][number]) => status === "succeeded";
  const preferred = refund_key === null ? free.find(hasSucceeded) : undefined;
  const refund = preferred ?? free[0] ?? fitting[0];
  if (!refund) return { ...MISSING, payment_id: id };
  const result = free.length === 0
    ? "listed_twice"
    : hasSucceeded(refund) === hasFailed(status)
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
