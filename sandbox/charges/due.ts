/** What happens to a transaction by the passing of time alone. */

import { decide } from "../cards/authorization.ts";
import { earliest, settlementOf } from "../engine/time.ts";
import { move } from "../transactions/transactions.ts";
import type { Transaction } from "../world/transaction.ts";
import type { World } from "../world/world.ts";
import { confirmRefund, isUnconfirmed } from "./refunds.ts";

/** When the next thing happens by itself; null: nothing will. */
export function dueAt(transaction: Transaction): number | null {
  const { status, expiresAt, decidesAt, capturedAt, refunds } = transaction;
  switch (status) {
    case "pending":
      return earliest(expiresAt, decidesAt);
    case "authorize":
      return expiresAt;
    case "capture":
      return capturedAt === null ? null : settlementOf(capturedAt);
    case "refund":
    case "partial_refund":
      return earliest(...refunds.filter(isUnconfirmed).map(({ confirmsAt }) => confirmsAt));
    default:
      return null;
  }
}

export function happen(world: World, transaction: Transaction): void {
  switch (transaction.status) {
    case "pending":
      if (isReached(world, transaction.decidesAt)) decideAlone(world, transaction);
      else move(world, transaction, "expire", "expiry");
      return;
    case "authorize":
      move(world, transaction, "expire", "expiry");
      return;
    case "capture":
      settle(world, transaction);
      return;
    default:
      confirmRefund(world, transaction);
  }
}

/** The day's captures; one whose challenge nobody answered is let go instead. */
export function settle(world: World, transaction: Transaction): Transaction {
  const to = transaction.fraud === "challenge" ? "cancel" : "settlement";
  return move(world, transaction, to, "settle");
}

/** A slow issuer makes up its mind, or a phone that was pushed says no. */
function decideAlone(world: World, transaction: Transaction): void {
  if (transaction.method === "credit_card") {
    const { status, says: _says, ...changes } = decide(
      transaction.details,
      transaction.amount,
      world,
    );
    move(world, transaction, status, "three_ds", { ...changes, decidesAt: null });
  } else {
    move(world, transaction, "deny", "deny", {
      decidesAt: null,
      message: "Ovo transaction is denied",
    });
  }
}

function isReached(world: World, at: number | null): boolean {
  return at !== null && at <= world.clock.now();
}
