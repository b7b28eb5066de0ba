/** What can happen to a transaction in the state it is in, as buttons. */

import { type HappeningName, HAPPENINGS, isWaitingForThreeDs } from "../../control/happenings.ts";
import type { Transaction } from "../../transactions/transaction.ts";

export interface RowAction {
  label: string;
  /** Its name in the control API. */
  happening: HappeningName;
  body?: Record<string, unknown>;
}

const ACTIONS: RowAction[] = [
  { label: "Pay", happening: "pay" },
  { label: "Finish 3DS", happening: "three_ds", body: { result: "success" } },
  { label: "Fail 3DS", happening: "three_ds", body: { result: "failure" } },
  { label: "Deny", happening: "deny" },
  { label: "Expire", happening: "expire" },
  { label: "Settle", happening: "settle" },
  { label: "Chargeback", happening: "chargeback" },
  { label: "Reverse", happening: "reverse" },
  { label: "Confirm refund", happening: "confirm_refund" },
];

export function actionsOf(transaction: Transaction): RowAction[] {
  // Finishing and failing 3-D Secure are how a card is paid and denied.
  const sameByOtherNames = isWaitingForThreeDs(transaction) ? ["pay", "deny"] : [];
  return ACTIONS.filter(({ happening }) =>
    HAPPENINGS[happening].can(transaction) && !sameByOtherNames.includes(happening)
  );
}
