/** Finds a transaction by its own id or by its order's. */

import { Refusal } from "../http/refusal.ts";
import type { World } from "../world/world.ts";
import type { Status, Transaction } from "../world/transaction.ts";
import type { Cause } from "../world/webhook.ts";

/** An order id with any other character can be charged, but no path leads to it (G§3.1). */
const USABLE_IN_A_PATH = /^[\w~.-]+$/;

export function findTransaction(world: World, id: string): Transaction {
  const transaction = world.transactions.get(id) ?? byOrder(world, id);
  if (!transaction) throw new Refusal(404);
  return transaction;
}

function byOrder(world: World, orderId: string): Transaction | undefined {
  if (!USABLE_IN_A_PATH.test(orderId)) return undefined;
  const transaction = world.transactions.get(world.orders.get(orderId)?.id ?? "");
  // DANA's are found by their own id alone (G§3.11).
  return transaction?.method === "dana" ? undefined : transaction;
}

export const EDGES: Record<Status, readonly Status[]> = {
  pending: ["authorize", "capture", "settlement", "deny", "cancel", "expire", "failure"],
  authorize: ["capture", "settlement", "cancel", "expire", "deny"],
  // To itself: a challenge that is accepted.
  capture: ["capture", "settlement", "deny", "cancel"],
  // To deny: the reversal of a provider, minutes later.
  settlement: ["refund", "partial_refund", "chargeback", "partial_chargeback", "deny"],
  partial_refund: ["partial_refund", "refund"],
  partial_chargeback: ["chargeback"],
  deny: [],
  cancel: [],
  expire: [],
  failure: [],
  refund: [],
  chargeback: [],
};

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

export function markInvoicePaid(world: World, { invoiceId }: Transaction): void {
  const invoice = invoiceId === null ? undefined : world.invoices.get(invoiceId);
  if (!invoice || invoice.status === "paid") return;
  world.invoices.put({ ...invoice, status: "paid", paidAt: world.clock.now() });
}
