/** Finds transactions and changes their state. */

import { first } from "../engine/store.ts";
import { Refusal } from "../http/refusal.ts";
import type { Status, Transaction } from "../world/transaction.ts";
import type { Cause } from "../world/webhook.ts";
import type { World } from "../world/world.ts";

export function findTransaction(world: World, id: string): Transaction {
  const transaction = world.transactions.get(id) ?? findByOrder(world, id);
  if (!transaction) throw new Refusal(404);
  return transaction;
}

function findByOrder(world: World, orderId: string): Transaction | undefined {
  const transaction = latestOfOrder(world, orderId);
  // The gateway finds DANA transactions by transaction id only.
  return transaction?.method === "dana" ? undefined : transaction;
}

/** The latest transaction with this order id. */
export function latestOfOrder(world: World, orderId: string): Transaction | undefined {
  return first(world.transactions.find(`order:${orderId}`));
}

/** Every change of status that a transaction can make. */
export const TRANSITIONS: Record<Status, readonly Status[]> = {
  pending: ["authorize", "capture", "settlement", "deny", "cancel", "expire", "failure"],
  authorize: ["capture", "settlement", "cancel", "expire", "deny"],
  // From `capture` to `capture`: an accepted challenge.
  capture: ["capture", "settlement", "deny", "cancel"],
  // From `settlement` to `deny`: a provider can reverse a payment minutes later.
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

/** Callers check the state first, so this error is a bug in the sandbox. */
class InvalidTransition extends Error {
  override name = "InvalidTransition";
}

/** Changes the status of a transaction, and notifies the merchant. */
export function transitionTo(
  world: World,
  transaction: Transaction,
  to: Status,
  cause: Cause,
  changes: Partial<Transaction> = {},
): Transaction {
  if (!TRANSITIONS[transaction.status].includes(to)) {
    throw new InvalidTransition(`${transaction.id}: ${transaction.status} → ${to} (${cause})`);
  }
  const now = world.clock.now();
  const updated = world.transactions.put({
    ...transaction,
    status: to,
    ...to === "settlement" && { settledAt: now },
    ...to === "capture" && { capturedAt: transaction.capturedAt ?? now },
    ...changes,
  });
  if (to === "settlement" || (to === "capture" && updated.fraud === "accept")) {
    markInvoicePaid(world, updated);
  }
  world.notifier.notifyTransaction(updated, cause);
  return updated;
}

/** Changes fields without a transition, and notifies the merchant. */
export function updateTransaction(
  world: World,
  transaction: Transaction,
  cause: Cause,
  changes: Partial<Transaction>,
): Transaction {
  const updated = world.transactions.put({ ...transaction, ...changes });
  world.notifier.notifyTransaction(updated, cause);
  return updated;
}

/** Marks the invoice of a paid transaction as paid, even if the invoice was voided meanwhile. */
function markInvoicePaid(world: World, { invoiceId }: Transaction): void {
  const invoice = invoiceId === null ? undefined : world.invoices.get(invoiceId);
  if (!invoice || invoice.status === "paid") return;
  world.invoices.put({ ...invoice, status: "paid", paidAt: world.clock.now() });
}
