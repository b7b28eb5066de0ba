/**
 * Changes of a transaction that happen over time: expiry, decisions, settlement, refund
 * confirmations.
 */

import { authorizeCard } from "../cards/authorization.ts";
import { earliest, settlementTime } from "../engine/time.ts";
import { transitionTo } from "../transactions/transactions.ts";
import type { Transaction } from "../world/transaction.ts";
import type { World } from "../world/world.ts";
import { confirmRefund, isUnconfirmed } from "./refunds.ts";

/** When the transaction changes next; null if nothing is scheduled. */
export function transactionDueAt(transaction: Transaction): number | null {
  const { status, expiresAt, decidesAt, capturedAt, refunds } = transaction;
  switch (status) {
    case "pending":
      return earliest(expiresAt, decidesAt);
    case "authorize":
      return expiresAt;
    case "capture":
      return capturedAt === null ? null : settlementTime(capturedAt);
    case "settlement":
    case "refund":
    case "partial_refund":
      return earliest(...refunds.filter(isUnconfirmed).map(({ confirmsAt }) => confirmsAt));
    default:
      return null;
  }
}

export function runDueTransaction(world: World, transaction: Transaction): void {
  switch (transaction.status) {
    case "pending":
      if (isReached(world, transaction.decidesAt)) decideWithoutCustomer(world, transaction);
      else transitionTo(world, transaction, "expire", "expiry");
      return;
    case "authorize":
      transitionTo(world, transaction, "expire", "expiry");
      return;
    case "capture":
      settle(world, transaction);
      return;
    default:
      confirmRefund(world, transaction);
  }
}

/** Settles a captured transaction. An undecided challenge is cancelled instead. */
export function settle(world: World, transaction: Transaction): Transaction {
  const to = transaction.fraud === "challenge" ? "cancel" : "settlement";
  return transitionTo(world, transaction, to, "settle");
}

/** Applies a scheduled decision: a slow card issuer decides, or an OVO customer declines. */
function decideWithoutCustomer(world: World, transaction: Transaction): void {
  if (transaction.method === "credit_card") {
    const { status, statusMessage: _statusMessage, ...changes } = authorizeCard(
      transaction.details,
      transaction.amount,
      world,
    );
    transitionTo(world, transaction, status, "three_ds", { ...changes, decidesAt: null });
  } else {
    transitionTo(world, transaction, "deny", "deny", {
      decidesAt: null,
      message: "Ovo transaction is denied",
    });
  }
}

function isReached(world: World, at: number | null): boolean {
  return at !== null && at <= world.clock.now();
}
