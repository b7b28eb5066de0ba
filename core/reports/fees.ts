/** Stores the gateway's fees that a compared report names, for payments and statistics. */

import type { Sql } from "../../db/connection/database.ts";
import { insertFees, type PaymentFee } from "../../db/reports/payment_fees.ts";
import {
  type ComparedLine,
  isCompared,
  numberChargebacks,
} from "../../db/reports/reconciliation_lines.ts";
import { recountPayments } from "./count_payments.ts";

/** Runs in the transaction that stores the results of the file's lines, and after that. */
export async function storeFees(
  sql: Sql,
  fileId: string,
  lines: readonly ComparedLine[],
): Promise<void> {
  const chargebacks = lines.filter(({ kind, result, fee_cents }) =>
    kind === "chargeback" && result === "matched" && fee_cents !== null
  );
  const numbers = chargebacks.length === 0
    ? new Map<number, number>()
    : await numberChargebacks(sql, fileId, chargebacks);
  const fees = new Map<string, PaymentFee>();
  for (const line of lines) {
    const fee = feeOf(line, numbers);
    if (fee === null) continue;
    const key = `${fee.payment_id} ${fee.item}`;
    const known = fees.get(key);
    if (!known || known.fee_cents === 0) fees.set(key, fee);
  }
  if (fees.size === 0) return;
  const sorted = [...fees].sort(([a], [b]) => a < b ? -1 : 1).map(([, fee]) => fee);
  const changed = await insertFees(sql, sorted);
  if (changed.length > 0) await recountPayments(sql, changed);
}

/**
 * Null: the line names no fee, or is not certainly about this payment. `chargebackNumbers`: of the
 * chargebacks that agree.
 */
function feeOf(
  line: ComparedLine,
  chargebackNumbers: ReadonlyMap<number, number>,
): PaymentFee | null {
  const { kind, result, payment_id, refund_id, fee_cents } = line;
  // An earlier report may have listed the payment without its fee.
  const isListedTwice = result === "listed_twice";
  if (fee_cents === null || payment_id === null || !(isCompared(line) || isListedTwice)) {
    return null;
  }
  if (kind === "settlement") {
    // Its amount or status can differ here; its fee is still what the gateway takes. Some reports
    // write it as a negative number.
    return { payment_id, item: "settlement", fee_cents: Math.abs(fee_cents) };
  }
  const signed = signedFee(line);
  if (signed === null || !(result === "matched" || isListedTwice)) return null;
  if (kind === "refund" && refund_id !== null) {
    return { payment_id, item: `refund:${refund_id}`, fee_cents: signed };
  }
  // Not the day: a repetition may name another one. Which of several equal chargebacks it repeats
  // is not known; as the first one, it only adds a fee that is missing there.
  const number = chargebackNumbers.get(line.line) ?? 1;
  return kind === "chargeback"
    ? { payment_id, item: `chargeback:${number}:${line.amount}`, fee_cents: signed }
    : null;
}

/**
 * The fee of a refund or a chargeback: positive if the gateway takes it, negative if it returns
 * one. Reports differ in the sign that they write, so the net amount decides, which is what the
 * gateway takes in total. Null: without it, the sign is not certain.
 */
function signedFee({ amount, fee_cents, net_cents }: ComparedLine): number | null {
  if (fee_cents === 0) return 0;
  if (net_cents === null) return null;
  const fee = Math.abs(net_cents) - amount * 100;
  return Math.abs(fee) === Math.abs(fee_cents!) ? fee : null;
}
