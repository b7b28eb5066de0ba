/** How much of a notification is believed, and what is only a reason to ask (contract 6). */

import type { GatewayPayment } from "../../db/payments.ts";
import type { Transaction } from "../gateway/responses.ts";
import { parseMoney } from "../money.ts";
import { foresee } from "../payments/gate.ts";
import { amountOf } from "../payments/gateway_word.ts";
import { impliesPaid, isStatus, type PaymentStatus } from "../payments/states.ts";
import type { Claim } from "./claim.ts";
import { hasOtherReading } from "./signed_text.ts";

export type Verdict =
  /** It tells nothing that could change the payment, true or not. */
  | "duplicate"
  | "stale"
  | "believe"
  /** The gateway has to say it itself. */
  | "ask";

export function judge(
  payment: GatewayPayment,
  claim: Claim,
  confirm: "fit" | "paid",
): Verdict {
  // Which transaction it is, is not signed. A payment that still waits for its own could be given any.
  const isAboutIt = payment.transaction_id !== null &&
    payment.transaction_id === claim.told.transaction_id;
  if (!isAboutIt || !isStatus(claim.told.transaction_status)) return "ask";
  const step = foresee(payment, claim.told);
  if (step === "duplicate" || step === "stale") return step;
  const isCertain = fits(payment, claim) && hasItsAmount(payment, claim) &&
    !tellsOfRefunds(claim.told) &&
    !hasOtherReading(claim.orderId, claim.statusCode, claim.grossAmount);
  const isAskedAnyway = confirm === "paid" && impliesPaid(stateOf(claim.told));
  return isCertain && !isAskedAnyway ? "believe" : "ask";
}

/** With a fee of the customer's on top it differs: then the gateway has to tell the two apart. */
function hasItsAmount(payment: GatewayPayment, { grossAmount, told }: Claim): boolean {
  const expected = payment.captured_amount ?? payment.gross_amount;
  return parseMoney(grossAmount) === expected && amountOf(told) === expected &&
    (told.currency ?? payment.currency) === payment.currency;
}

function tellsOfRefunds({ refunds, refund_amount }: Transaction): boolean {
  return refunds.length > 0 || refund_amount !== null;
}

/**
 * The status is not signed, but the code is, and each code means but a few of them. What is believed
 * is what the code leaves no doubt about: 201 may be a challenge as well as a payment that waits, and
 * 200 money that is held, a card's that was captured, or money that has come. Of a card that was
 * captured nobody has to know in a hurry that it was settled, so that it is asked for.
 */
function fits(payment: GatewayPayment, { statusCode, told }: Claim): boolean {
  if (payment.transaction_status !== "pending") return false;
  const { status, fraud } = stateOf(told);
  if (statusCode === "202") {
    return ENDED.includes(status) && (fraud ?? payment.fraud_status) === payment.fraud_status;
  }
  if (statusCode !== "200" || payment.is_hold) return false;
  if (payment.payment_type === "credit_card") return status === "capture" && fraud === "accept";
  return status === "settlement" && payment.payment_type !== SAYS_200_WHILE_PENDING &&
    (fraud ?? "accept") === "accept";
}

const ENDED: PaymentStatus[] = ["deny", "cancel", "expire"];

/** G§3.11. */
const SAYS_200_WHILE_PENDING = "dana";

function stateOf({ transaction_status, fraud_status }: Transaction) {
  return { status: transaction_status as PaymentStatus, fraud: fraud_status };
}
