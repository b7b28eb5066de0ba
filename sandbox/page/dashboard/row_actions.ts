/** What can happen to a transaction in the state it is in, as buttons. */

import type { Transaction } from "../../transactions/transaction.ts";

export interface RowAction {
  label: string;
  /** Its name in the control API. */
  happening: string;
  body?: Record<string, unknown>;
}

const PAY = { label: "Pay", happening: "pay" };
const DENY = { label: "Deny", happening: "deny" };
const EXPIRE = { label: "Expire", happening: "expire" };
const SETTLE = { label: "Settle", happening: "settle" };
const CHARGEBACK = { label: "Chargeback", happening: "chargeback" };
const REVERSE = { label: "Reverse", happening: "reverse" };
const CONFIRM_REFUND = { label: "Confirm refund", happening: "confirm_refund" };
const FINISH = { label: "Finish 3DS", happening: "three_ds", body: { result: "success" } };
const FAIL = { label: "Fail 3DS", happening: "three_ds", body: { result: "failure" } };

export function actionsOf(transaction: Transaction): RowAction[] {
  const { status, method, refunds } = transaction;
  const isCard = method === "credit_card";
  switch (status) {
    case "pending":
      if (!isCard) return [PAY, DENY, EXPIRE];
      return isChallenged(transaction) ? [FINISH, FAIL, EXPIRE] : [DENY, EXPIRE];
    case "capture":
      return [SETTLE];
    case "settlement":
      return isCard ? [CHARGEBACK] : isReversible(transaction) ? [REVERSE] : [];
    case "partial_chargeback":
      return [CHARGEBACK];
    default:
      return refunds.some(({ confirmedAt }) => confirmedAt === null) ? [CONFIRM_REFUND] : [];
  }
}

/** The customer has been sent to the bank, and the bank has heard nothing yet. */
function isChallenged({ details }: Transaction): boolean {
  return (details.threeDs as { result: string | null } | undefined)?.result === null;
}

/** Those whose provider takes a payment back now and then. */
function isReversible({ method, details }: Transaction): boolean {
  return method === "echannel" || details.bank === "permata" || details.store === "indomaret";
}
