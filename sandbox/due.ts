/** What happens by itself to records of each kind, and when. */

import { expireAccount } from "./accounts/accounts.ts";
import { dueAt, happen } from "./charges/due.ts";
import { becomeOverdue } from "./invoices/invoices.ts";
import { cycleDueAt, runCycle } from "./subscriptions/cycle.ts";
import type { Card, Invoice, KeptAnswer, PayAccount, Subscription } from "./world/records.ts";
import type { Transaction } from "./world/transaction.ts";
import type { Webhook } from "./world/webhook.ts";
import type { World } from "./world/world.ts";

export interface Due<T> {
  /** When the next thing happens to it; null: nothing will. */
  at(record: T): number | null;
  happen(world: World, record: T): unknown;
}

interface Records {
  transactions: Transaction;
  subscriptions: Subscription;
  invoices: Invoice;
  accounts: PayAccount;
  cards: Card;
  answers: KeptAnswer;
  webhooks: Webhook;
}

export type RecordOf<K extends keyof Records> = Records[K];

export const DUE: { [K in keyof Records]: Due<Records[K]> } = {
  transactions: { at: dueAt, happen },
  subscriptions: { at: cycleDueAt, happen: runCycle },
  invoices: {
    at: ({ status, dueAt }) => status === "pending" ? dueAt : null,
    happen: becomeOverdue,
  },
  accounts: {
    at: ({ status, expiresAt }) => status === "PENDING" ? expiresAt : null,
    happen: expireAccount,
  },
  cards: {
    at: ({ expiresAt }) => expiresAt,
    happen: (world, { id }) => world.cards.delete(id),
  },
  answers: {
    at: ({ until }) => until,
    happen: (world, { id }) => world.answers.delete(id),
  },
  webhooks: {
    at: ({ nextAt }) => nextAt,
    happen: (world, webhook) => world.notifier.retry(webhook),
  },
};

/** Looks at a record whose time was once said to be now; since then, that may have changed. */
export function happenIfDue(world: World, table: keyof Records, id: string): void {
  // Each table has the records that its own entry is about.
  const record = world[table].get(id) as never;
  const { at, happen } = DUE[table] as Due<unknown>;
  const due = record && at(record);
  if (due && due <= world.clock.now()) happen(world, record);
}
