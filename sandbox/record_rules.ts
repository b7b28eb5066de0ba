/**
 * The rules of each kind of record: when it is due next and what runs then, when it is final, and
 * by which keys it is found.
 */

import { expireAccount } from "./accounts/accounts.ts";
import { cardDetails } from "./cards/authorization.ts";
import { runDueTransaction, transactionDueAt } from "./charges/due.ts";
import { reportDays } from "./control/settlement_report.ts";
import { markOverdue } from "./invoices/invoices.ts";
import { expirePage } from "./snap/pages.ts";
import { cycleDueAt, runCycle } from "./subscriptions/cycle.ts";
import type {
  Card,
  Invoice,
  PayAccount,
  SnapPage,
  StoredResponse,
  Subscription,
} from "./world/records.ts";
import type { Transaction } from "./world/transaction.ts";
import type { Webhook } from "./world/webhook.ts";
import type { World } from "./world/world.ts";

export interface RecordRules<T> {
  /** When the record is due next; null if nothing is scheduled. */
  at(record: T): number | null;
  run(world: World, record: T): unknown;
  /**
   * Whether the record probably does not change again, so that it may be deleted if there are too
   * many. Missing for kinds with few records, and for kinds whose records are deleted when they are
   * due.
   */
  isFinal?(record: T): boolean;
  /** Texts by which the record is found, in addition to its id. */
  keysOf?(record: T): string[];
}

interface Records {
  transactions: Transaction;
  subscriptions: Subscription;
  invoices: Invoice;
  snapPages: SnapPage;
  accounts: PayAccount;
  cards: Card;
  answers: StoredResponse;
  webhooks: Webhook;
}

export type RecordOf<K extends keyof Records> = Records[K];

export const RECORD_RULES: { [K in keyof Records]: RecordRules<Records[K]> } = {
  transactions: {
    at: transactionDueAt,
    run: runDueTransaction,
    isFinal: (transaction) =>
      !["pending", "authorize", "capture"].includes(transaction.status) &&
      transactionDueAt(transaction) === null,
    keysOf: transactionKeys,
  },
  subscriptions: {
    at: cycleDueAt,
    run: runCycle,
    isFinal: (subscription) => cycleDueAt(subscription) === null,
  },
  invoices: {
    at: ({ status, dueAt }) => status === "pending" ? dueAt : null,
    run: markOverdue,
    isFinal: ({ status }) => ["paid", "voided", "rejected", "canceled"].includes(status),
    keysOf: ({ orderId }) => [`order:${orderId}`],
  },
  snapPages: {
    at: ({ ended, expiresAt }) => ended === null ? expiresAt : null,
    run: expirePage,
    isFinal: ({ ended }) => ended !== null,
    keysOf: ({ orderId }) => [`order:${orderId}`],
  },
  accounts: {
    at: ({ status, expiresAt }) => status === "PENDING" ? expiresAt : null,
    run: expireAccount,
  },
  cards: {
    at: ({ expiresAt }) => expiresAt,
    run: (world, { id }) => world.cards.delete(id),
    keysOf: ({ isSaved, userId }) => isSaved && userId !== undefined ? [`user:${userId}`] : [],
  },
  answers: {
    at: ({ until }) => until,
    run: (world, { id }) => world.answers.delete(id),
  },
  webhooks: {
    at: ({ nextAt }) => nextAt,
    run: (world, webhook) => world.notifier.retry(webhook),
    isFinal: ({ state }) => ["delivered", "failed", "lost"].includes(state),
    keysOf: ({ transactionId, state }) => [
      ...transactionId === null ? [] : [`transaction:${transactionId}`],
      `state:${state}`,
    ],
  },
};

function transactionKeys(transaction: Transaction): string[] {
  const { orderId, status, parentId, details, snapToken } = transaction;
  const { threeDs, savedTokenId } = cardDetails(transaction);
  return [
    `order:${orderId}`,
    `status:${status}`,
    ...parentId === null ? [] : [`parent:${parentId}`],
    ...snapToken === undefined ? [] : [`snap:${snapToken}`],
    ...threeDs?.token ? [`redirect:${threeDs.token}`] : [],
    ...savedTokenId === undefined ? [] : [`saved:${savedTokenId}`],
    // No two payable transactions may have the same number.
    ...status === "pending" && details.number ? [`number:${details.number}`] : [],
    ...details.reference ? [`reference:${details.reference}`] : [],
    ...reportDays(transaction).map((day) => `day:${day}`),
  ];
}

/**
 * Runs the action of a record that was scheduled for now, unless the record has changed since and
 * is no longer due.
 */
export function runIfDue(world: World, table: keyof Records, id: string): void {
  // TypeScript cannot relate a table name to its record type across two lookups.
  const record = world[table].get(id) as never;
  const { at, run } = RECORD_RULES[table] as RecordRules<unknown>;
  const due = record && at(record);
  if (due && due <= world.clock.now()) run(world, record);
}
