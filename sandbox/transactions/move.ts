/** The one way a transaction changes: along an edge, kept, and told to the merchant. */

import { markInvoicePaid } from "../invoices/mark_paid.ts";
import type { Cause } from "../webhooks/cause.ts";
import type { World } from "../world/world.ts";
import { EDGES } from "./edges.ts";
import type { Status, Transaction } from "./transaction.ts";

/** Thrown where no edge leads; those who call ask first, so this is a mistake of the sandbox. */
class NoSuchEdge extends Error {
  override name = "NoSuchEdge";
}

export function move(
  world: World,
  transaction: Transaction,
  to: Status,
  cause: Cause,
  changes: Partial<Transaction> = {},
): Transaction {
  if (!EDGES[transaction.status].includes(to)) {
    throw new NoSuchEdge(`${transaction.id}: ${transaction.status} → ${to} (${cause})`);
  }
  const now = world.clock.now();
  const moved = world.transactions.put({
    ...transaction,
    status: to,
    ...to === "settlement" && { settledAt: now },
    ...to === "capture" && { capturedAt: transaction.capturedAt ?? now },
    ...changes,
  });
  if (to === "settlement" || (to === "capture" && moved.fraud === "accept")) {
    markInvoicePaid(world, moved);
  }
  world.notifier.transaction(moved, cause);
  return moved;
}

/** Another fact about a transaction whose state stays: told as well. */
export function revise(
  world: World,
  transaction: Transaction,
  cause: Cause,
  changes: Partial<Transaction>,
): Transaction {
  const revised = world.transactions.put({ ...transaction, ...changes });
  world.notifier.transaction(revised, cause);
  return revised;
}
