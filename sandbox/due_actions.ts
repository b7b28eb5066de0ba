/** Scheduled actions: when each kind of record is due next, and what runs then. */

import { expireAccount } from "./accounts/accounts.ts";
import { runDueTransaction, transactionDueAt } from "./charges/due.ts";
import { markOverdue } from "./invoices/invoices.ts";
import { cycleDueAt, runCycle } from "./subscriptions/cycle.ts";
import type { Card, Invoice, PayAccount, StoredResponse, Subscription } from "./world/records.ts";
import type { Transaction } from "./world/transaction.ts";
import type { Webhook } from "./world/webhook.ts";
import type { World } from "./world/world.ts";

export interface DueAction<T> {
  /** When the record is due next; null if nothing is scheduled. */
  at(record: T): number | null;
  run(world: World, record: T): unknown;
}

interface Records {
  transactions: Transaction;
  subscriptions: Subscription;
  invoices: Invoice;
  accounts: PayAccount;
  cards: Card;
  answers: StoredResponse;
  webhooks: Webhook;
}

export type RecordOf<K extends keyof Records> = Records[K];

export const DUE_ACTIONS: { [K in keyof Records]: DueAction<Records[K]> } = {
  transactions: { at: transactionDueAt, run: runDueTransaction },
  subscriptions: { at: cycleDueAt, run: runCycle },
  invoices: {
    at: ({ status, dueAt }) => status === "pending" ? dueAt : null,
    run: markOverdue,
  },
  accounts: {
    at: ({ status, expiresAt }) => status === "PENDING" ? expiresAt : null,
    run: expireAccount,
  },
  cards: {
    at: ({ expiresAt }) => expiresAt,
    run: (world, { id }) => world.cards.delete(id),
  },
  answers: {
    at: ({ until }) => until,
    run: (world, { id }) => world.answers.delete(id),
  },
  webhooks: {
    at: ({ nextAt }) => nextAt,
    run: (world, webhook) => world.notifier.retry(webhook),
  },
};

/**
 * Runs the action of a record that was scheduled for now. The record may have changed since it was
 * scheduled.
 */
export function runIfDue(world: World, table: keyof Records, id: string): void {
  // TypeScript cannot relate a table name to its record type across two lookups.
  const record = world[table].get(id) as never;
  const { at, run } = DUE_ACTIONS[table] as DueAction<unknown>;
  const due = record && at(record);
  if (due && due <= world.clock.now()) run(world, record);
}
