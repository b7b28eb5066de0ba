/** Calls on a transaction: status, cancel, expire, approve, deny, capture. */

import { cannotUpdate, invalid, Refusal } from "../http/refusal.ts";
import { integer, object, rupiah, text, validate } from "../http/validate.ts";
import { findTransaction, transitionTo, updateTransaction } from "../transactions/transactions.ts";
import type { Transaction } from "../world/transaction.ts";
import type { World } from "../world/world.ts";
import { cardFields } from "./methods/credit_card.ts";
import { actionResponse, statusForMerchant } from "./responses.ts";

export function getStatus(world: World, id: string) {
  return statusForMerchant(world, findTransaction(world, id));
}

const Page = object({ page: integer(0, 1_000_000), per_page: integer(1, 100) });

/** Lists all payments to a virtual account that can be paid more than once. */
export function getStatusB2b(world: World, id: string, query: Record<string, string>) {
  const transaction = findTransaction(world, id);
  if (!["bank_transfer", "permata"].includes(transaction.method)) throw new Refusal(404);
  const { page, per_page } = validate(Page, {
    page: Number(query.page ?? 0),
    per_page: Number(query.per_page ?? 10),
  });
  const parentId = transaction.parentId ?? transaction.id;
  const parent = world.transactions.get(parentId);
  const all = [...world.transactions.find(`parent:${parentId}`), ...parent ? [parent] : []];
  return {
    status_code: "200",
    status_message: "Success, transactions are retrieved",
    transactions: all.slice(page * per_page, (page + 1) * per_page).map((each) =>
      statusForMerchant(world, each)
    ),
  };
}

export function cancel(world: World, id: string) {
  const transaction = findTransaction(world, id);
  if (!canCancel(transaction)) throw cannotUpdate(transaction.id);
  const cancelled = transitionTo(world, transaction, "cancel", "cancel", {
    details: { ...transaction.details, cancelledFrom: transaction.status },
  });
  return actionResponse(world, cancelled, "Success, transaction is canceled");
}

/** BNI does not cancel authorizations, and Mandiri does not cancel captured pre-authorizations. */
function canCancel({ status, details }: Transaction): boolean {
  if (status === "authorize") return details.bank !== "bni";
  if (status === "capture") return !(details.isPreAuth && details.bank === "mandiri");
  return status === "pending";
}

export function expire(world: World, id: string) {
  const transaction = findTransaction(world, id);
  if (transaction.status !== "pending") throw cannotUpdate(transaction.id);
  const expired = transitionTo(world, transaction, "expire", "expire");
  const verb = transaction.details.bank === "permata" ? "has" : "is";
  return actionResponse(world, expired, `Success, transaction ${verb} expired`);
}

export function approve(world: World, id: string) {
  const transaction = findChallenged(world, id);
  const approved = transaction.status === "capture"
    ? transitionTo(world, transaction, "capture", "approve", { fraud: "accept" })
    : updateTransaction(world, transaction, "approve", { fraud: "accept" });
  return {
    ...actionResponse(world, approved, "Success, transaction is approved"),
    ...cardFields(approved),
  };
}

export function deny(world: World, id: string) {
  const transaction = findChallenged(world, id);
  const status = world.settings.denied_review_status;
  const denied = transitionTo(world, transaction, status, "deny", { fraud: "deny" });
  return {
    ...actionResponse(world, denied, "Success, transaction is denied"),
    // Always 200, because the denial that the merchant asked for succeeded.
    status_code: "200",
  };
}

function findChallenged(world: World, id: string): Transaction {
  const transaction = findTransaction(world, id);
  if (!isChallenged(transaction)) throw cannotUpdate(transaction.id);
  return transaction;
}

/** Whether the merchant has to review the transaction. */
export function isChallenged({ status, fraud }: Transaction): boolean {
  return ["capture", "authorize"].includes(status) && fraud === "challenge";
}

const Target = object({ transaction_id: text(255) });
const Capture = Target.extend({ gross_amount: rupiah().nullish() });

export function capture(world: World, body: unknown, isDeclinedByBank: boolean) {
  // The gateway looks up the transaction before it validates the amount.
  const transaction = findTransaction(world, validate(Target, body).transaction_id);
  const request = validate(Capture, body);
  if (transaction.status !== "authorize") throw cannotUpdate(transaction.id);
  const isGopay = transaction.method === "gopay";
  const amount = request.gross_amount ?? transaction.amount;
  const isInvalidAmount = amount > transaction.amount || (isGopay && amount !== transaction.amount);
  if (isInvalidAmount) {
    throw invalid(`gross_amount must be equal or less than ${transaction.amount}`);
  }
  if (isDeclinedByBank) {
    // The authorization stays, so that the merchant can retry the capture.
    return {
      ...actionResponse(world, transaction, "Capture denied by the bank"),
      status_code: "202",
      transaction_status: "deny",
    };
  }
  if (isGopay) {
    const settled = transitionTo(world, transaction, "settlement", "capture");
    return actionResponse(world, settled, "Success, transaction is captured");
  }
  const captured = transitionTo(world, transaction, "capture", "capture", { amount });
  const statusMessage = "Success, Credit Card capture transaction is successful";
  return actionResponse(world, captured, statusMessage);
}
