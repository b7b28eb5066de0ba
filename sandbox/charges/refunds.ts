/** `POST /v2/{id}/refund` and `/refund/online/direct`, and the bank's confirmation. */

import { DAY, formatWib, SECOND } from "../engine/time.ts";
import { cannotUpdate, Refusal } from "../http/refusal.ts";
import { object, rupiah, text, validate } from "../http/validate.ts";
import {
  findTransaction,
  TRANSITIONS,
  transitionTo,
  updateTransaction,
} from "../transactions/transactions.ts";
import { formatMoney, type Refund, sumRefunds, type Transaction } from "../world/transaction.ts";
import type { World } from "../world/world.ts";
import { canRefundDirectly } from "./methods/credit_card.ts";
import { METHODS } from "./methods/methods.ts";
import { refundResponse } from "./responses.ts";

const Request = object({
  // An empty key counts as absent: one of the gateway's client libraries sends the field empty.
  refund_key: text(255, 0).regex(/^[\w-]*$/, "must have only A-Z a-z 0-9 _ -").nullish(),
  amount: rupiah(0).nullish(),
  reason: text(255, 0).nullish(),
});

/** Limits the size of webhooks, each of which lists all refunds. */
const MAX_REFUNDS = 100;

/** The bank confirms a refund this long after the request. The gateway then sends a webhook. */
const CONFIRMATION_AFTER = 5 * SECOND;

export interface RefundKind {
  isDirect: boolean;
  isDeclinedByBank: boolean;
  isPendingAtBank: boolean;
}

export function refund(world: World, id: string, body: unknown, kind: RefundKind) {
  const { isDirect, isDeclinedByBank, isPendingAtBank } = kind;
  // The gateway looks up the transaction before it validates the body.
  const transaction = findTransaction(world, id);
  const request = validate(Request, body ?? {});
  const key = request.refund_key || `refund-${world.random.hex(16)}`;
  const left = transaction.amount - sumRefunds(transaction);
  const amount = request.amount ?? left;
  requireRefundable(world, transaction, { key, amount, isDirect });
  if (isDeclinedByBank) {
    return {
      ...refundResponse(world, transaction, "Refund denied by the bank"),
      status_code: "202",
      refund_amount: "0.00",
      refund_key: key,
    };
  }

  const now = world.clock.now();
  const newRefund = {
    id: transaction.refunds.length + 1,
    key,
    amount,
    reason: request.reason || "refund request from merchant",
    isDirect,
    createdAt: now,
    confirmsAt: now + CONFIRMATION_AFTER,
    confirmedAt: null,
    ...isPendingAtBank && { isPending: true },
  };
  const refunds = [...transaction.refunds, newRefund];
  if (isPendingAtBank) {
    const withPendingRefund = world.transactions.put({ ...transaction, refunds });
    return {
      ...refundResponse(world, withPendingRefund, "Refund request is pending at the bank"),
      status_code: "201",
      refund_amount: formatMoney(amount),
      refund_key: key,
    };
  }
  const status = refundedStatus(transaction, refunds);
  const cause = isDirect ? "direct_refund" : "refund";
  const refunded = transitionTo(world, transaction, status, cause, { refunds });
  return refundedResponse(world, refunded, newRefund);
}

/**
 * Checks the key before the state: a merchant that repeats a refund after a lost response must get
 * 406, even if the transaction was refunded completely. A failed refund does not use up its key.
 */
function requireRefundable(
  world: World,
  transaction: Transaction,
  { key, amount, isDirect }: Pick<Refund, "key" | "amount" | "isDirect">,
): void {
  if (transaction.refunds.some((each) => each.key === key)) {
    throw new Refusal(406, "Duplicate refund ID");
  }
  const isPossible = transaction.refunds.length < MAX_REFUNDS &&
    canRefund(transaction, isDirect, world.clock.now());
  if (!isPossible) throw notRefundable(transaction);
  const left = transaction.amount - sumRefunds(transaction);
  const isPartial = METHODS[transaction.method].refunds!.isPartial;
  if (amount < 1 || amount > left || (!isPartial && amount !== transaction.amount)) {
    throw new Refusal(414);
  }
}

/** The response to a refund that the bank has made. */
function refundedResponse(
  world: World,
  refunded: Transaction,
  { id, key, amount, isDirect, createdAt }: Refund,
) {
  const { method, details, settledAt } = refunded;
  const isCard = method === "credit_card";
  return {
    ...refundResponse(world, refunded, refundMessage(isDirect, isCard)),
    refund_chargeback_id: id,
    ...(isCard || method === "gopay") && { refund_chargeback_uuid: world.random.uuid() },
    ...isCard && { bank: details.bank, settlement_time: formatWib(settledAt ?? createdAt) },
    // The gateway documents: the response to a direct refund has the sum of all refunds, and any
    // other response has the amount of this refund.
    refund_amount: formatMoney(isDirect ? sumRefunds(refunded) : amount),
    refund_key: key,
    // The response to a refund of an OVO payment also has OVO's own fields of a status response.
    ...method === "ovo" && METHODS.ovo.fields(refunded, "status", world),
  };
}

function refundMessage(isDirect: boolean, isCard: boolean): string {
  if (isDirect) return "Success, refund request is approved by the bank";
  return `Success, refund ${isCard ? "offline " : ""}request is approved`;
}

/** For Permata, the gateway uses another message and sends no id. */
function notRefundable({ id, details }: Transaction): Refusal {
  if (details.bank !== "permata") return cannotUpdate(id);
  const message = "Merchant cannot modify the status of the transaction";
  return new Refusal(412, message, [], { id: undefined });
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

/**
 * Marks the oldest unconfirmed refund as confirmed by the bank, and sends a webhook. This is the
 * first webhook of a refund that was pending at the bank (`isPending`), and the second webhook of
 * any other.
 */
export function confirmRefund(world: World, transaction: Transaction): Transaction {
  const confirmed = transaction.refunds.find(isUnconfirmed);
  const refunds = transaction.refunds.map((refund) =>
    refund === confirmed ? { ...refund, confirmedAt: world.clock.now(), isPending: false } : refund
  );
  if (!confirmed?.isPending) {
    return updateTransaction(world, transaction, "confirm_refund", { refunds });
  }
  const status = refundedStatus(transaction, refunds);
  // A refund can be confirmed after a chargeback, which remains the status.
  return TRANSITIONS[transaction.status].includes(status)
    ? transitionTo(world, transaction, status, "confirm_refund", { refunds })
    : updateTransaction(world, transaction, "confirm_refund", { refunds });
}

/** A refund that is pending at the bank is not made yet. */
function refundedStatus({ amount }: Transaction, refunds: Refund[]): "refund" | "partial_refund" {
  const made = sumRefunds({ refunds: refunds.filter(({ isPending }) => !isPending) });
  return made === amount ? "refund" : "partial_refund";
}

export function isUnconfirmed({ confirmedAt }: { confirmedAt: number | null }): boolean {
  return confirmedAt === null;
}
