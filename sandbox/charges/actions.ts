/** What can be done to a transaction: look, cancel, expire, approve, deny, capture (G§4). */

import { invalid, Refusal } from "../http/refusal.ts";
import { count, object, rupiah, text, validate } from "../http/validate.ts";
import type { World } from "../world/world.ts";
import { findTransaction, move, revise } from "../transactions/transactions.ts";
import type { Transaction } from "../world/transaction.ts";
import { actionAnswer, statusAnswer } from "./responses.ts";

export function getStatus(world: World, id: string) {
  return statusAnswer(world, findTransaction(world, id));
}

const Page = object({ page: count(0, 1_000_000), per_page: count(1, 100) });

/** All payments to a virtual account that can be paid more than once. */
export function getStatusB2b(world: World, id: string, query: Record<string, string>) {
  const transaction = findTransaction(world, id);
  if (!["bank_transfer", "permata"].includes(transaction.method)) throw new Refusal(404);
  const { page, per_page } = validate(Page, {
    page: Number(query.page ?? 0),
    per_page: Number(query.per_page ?? 10),
  });
  const parentId = transaction.parentId ?? transaction.id;
  const all = [...world.transactions.newest()].filter((each) =>
    each.id === parentId || each.parentId === parentId
  );
  return {
    status_code: "200",
    status_message: "Success, transactions are retrieved",
    transactions: all.slice(page * per_page, (page + 1) * per_page).map((each) =>
      statusAnswer(world, each)
    ),
  };
}

export function cancel(world: World, id: string) {
  const transaction = findTransaction(world, id);
  if (!canCancel(transaction)) throw new Refusal(412);
  const cancelled = move(world, transaction, "cancel", "cancel", {
    details: { ...transaction.details, cancelledFrom: transaction.status },
  });
  return actionAnswer(world, cancelled, "Success, transaction is canceled");
}

/** Acquirers differ in when a held amount can be let go. */
function canCancel({ status, details }: Transaction): boolean {
  if (status === "authorize") return details.bank !== "bni";
  if (status === "capture") return !(details.isPreAuth && details.bank === "mandiri");
  return status === "pending";
}

export function expire(world: World, id: string) {
  const transaction = findTransaction(world, id);
  if (transaction.status !== "pending") {
    const { bank, store } = transaction.details;
    if (bank !== "permata" && store !== "indomaret") throw new Refusal(412);
    throw new Refusal(412, "Transaction status cannot be updated.");
  }
  const expired = move(world, transaction, "expire", "expire");
  return actionAnswer(world, expired, "Success, transaction has expired");
}

export function approve(world: World, id: string) {
  const transaction = findChallenged(world, id);
  const approved = transaction.status === "capture"
    ? move(world, transaction, "capture", "approve", { fraud: "accept" })
    : revise(world, transaction, "approve", { fraud: "accept" });
  return actionAnswer(world, approved, "Success, transaction is approved");
}

export function deny(world: World, id: string) {
  const transaction = findChallenged(world, id);
  const denied = move(world, transaction, "deny", "deny", { fraud: "deny" });
  return {
    ...actionAnswer(world, denied, "Success, transaction is denied"),
    // Done as the merchant asked, so no refusal (G§4.1).
    status_code: "200",
  };
}

function findChallenged(world: World, id: string): Transaction {
  const transaction = findTransaction(world, id);
  const isOpen = ["capture", "authorize"].includes(transaction.status);
  if (!isOpen || transaction.fraud !== "challenge") throw new Refusal(412);
  return transaction;
}

const Capture = object({ transaction_id: text(255), gross_amount: rupiah().nullish() });

export function capture(world: World, body: unknown, isRefusedByBank: boolean) {
  const request = validate(Capture, body);
  const transaction = findTransaction(world, request.transaction_id);
  if (transaction.status !== "authorize") throw new Refusal(412);
  const isGopay = transaction.method === "gopay";
  const amount = request.gross_amount ?? transaction.amount;
  const isTooMuch = amount > transaction.amount || (isGopay && amount !== transaction.amount);
  if (isTooMuch) {
    throw invalid(`gross_amount must be equal or less than ${transaction.amount}`);
  }
  if (isRefusedByBank) {
    // The hold stays as it is: the merchant may try again.
    return {
      ...actionAnswer(world, transaction, "Capture denied by the bank"),
      status_code: "202",
      transaction_status: "deny",
    };
  }
  if (isGopay) {
    const settled = move(world, transaction, "settlement", "capture");
    return actionAnswer(world, settled, "Success, transaction is captured");
  }
  const captured = move(world, transaction, "capture", "capture", { amount });
  const says = "Success, Credit Card capture transaction is successful";
  return actionAnswer(world, captured, says);
}
