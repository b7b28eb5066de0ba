/** `POST /v2/{id}/refund` and its direct twin (G§4.2). */

import { DAY, SECOND } from "../engine/time.ts";
import { Refusal } from "../http/refusal.ts";
import { object, rupiah, text, validate } from "../http/validate.ts";
import { findTransaction, move, revise } from "../transactions/transactions.ts";
import { money, refundedSum, type Transaction } from "../world/transaction.ts";
import type { World } from "../world/world.ts";
import { canRefundDirectly } from "./methods/credit_card.ts";
import { METHODS } from "./methods/methods.ts";
import { actionAnswer } from "./responses.ts";

const Request = object({
  refund_key: text(255).regex(/^[\w-]+$/, "must have only A-Z a-z 0-9 _ -").nullish(),
  amount: rupiah(0).nullish(),
  reason: text(255, 0).nullish(),
});

/** More than any merchant makes; each is told again with every webhook. */
const MAX_REFUNDS = 100;

/** The bank confirms a refund a little later, with a webhook of its own. */
const CONFIRMATION_AFTER = 5 * SECOND;

export interface RefundKind {
  isDirect: boolean;
  isRefusedByBank: boolean;
}

export function refund(world: World, id: string, body: unknown, kind: RefundKind) {
  const { isDirect } = kind;
  const request = validate(Request, body ?? {});
  const transaction = findTransaction(world, id);
  // The key of a refund that was made, whatever else has become of it: who asks again after an
  // answer was lost is told so. One that failed left nothing behind and may be tried again.
  const key = request.refund_key ?? `refund-${world.random.hex(16)}`;
  if (transaction.refunds.some((each) => each.key === key)) {
    throw new Refusal(406, "Duplicate refund ID");
  }
  if (transaction.refunds.length >= MAX_REFUNDS) throw new Refusal(412);
  if (!canRefund(transaction, isDirect, world.clock.now())) throw new Refusal(412);
  const left = transaction.amount - refundedSum(transaction);
  const amount = request.amount ?? left;
  const isPartial = METHODS[transaction.method].refunds!.isPartial;
  if (amount < 1 || amount > left || (!isPartial && amount !== transaction.amount)) {
    throw new Refusal(414);
  }
  if (kind.isRefusedByBank) {
    return {
      ...actionAnswer(world, transaction, "Refund denied by the bank"),
      status_code: "202",
      refund_amount: "0.00",
      refund_key: key,
    };
  }

  const now = world.clock.now();
  const made = {
    id: transaction.refunds.length + 1,
    key,
    amount,
    reason: request.reason || "refund request from merchant",
    isDirect,
    createdAt: now,
    confirmsAt: now + CONFIRMATION_AFTER,
    confirmedAt: null,
  };
  const cause = isDirect ? "direct_refund" : "refund";
  const refunded = move(world, transaction, amount === left ? "refund" : "partial_refund", cause, {
    refunds: [...transaction.refunds, made],
  });
  const says = isDirect
    ? "Success, refund request is approved by the bank"
    : "Success, refund request is approved";
  return {
    ...actionAnswer(world, refunded, says),
    refund_chargeback_id: made.id,
    ...transaction.method === "gopay" && { refund_chargeback_uuid: world.random.uuid() },
    // One page of the gateway's means this refund, the other all of them (G§4.2).
    refund_amount: money(isDirect ? refundedSum(refunded) : amount),
    refund_key: key,
    // What else it says of the phone it was paid with.
    ...transaction.method === "ovo" && METHODS.ovo.fields(refunded, "status", world),
  };
}

function canRefund(
  { status, method, details, settledAt }: Transaction,
  isDirect: boolean,
  now: number,
) {
  const rules = METHODS[method].refunds;
  if (!rules || (status !== "settlement" && status !== "partial_refund")) return false;
  if (now > (settledAt ?? now) + rules.days(details) * DAY) return false;
  if (!isDirect) return true;
  return rules.isDirect && (method !== "credit_card" || canRefundDirectly(details));
}

/** The second webhook of a refund: now the bank has said so. */
export function confirmRefund(world: World, transaction: Transaction): Transaction {
  const confirmed = transaction.refunds.find(isUnconfirmed);
  return revise(world, transaction, "confirm_refund", {
    refunds: transaction.refunds.map((refund) =>
      refund === confirmed ? { ...refund, confirmedAt: world.clock.now() } : refund
    ),
  });
}

export function isUnconfirmed({ confirmedAt }: { confirmedAt: number | null }): boolean {
  return confirmedAt === null;
}
