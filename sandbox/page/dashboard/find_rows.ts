/** The transactions that the list shows, each with the last webhook that told of it. */

import type { Transaction } from "../../transactions/transaction.ts";
import type { Webhook } from "../../webhooks/webhook.ts";
import type { World } from "../../world/world.ts";

export interface Filter {
  /** Any part of the order's id; empty: all. */
  order: string;
  status: string;
}

export interface Row {
  transaction: Transaction;
  webhook: Webhook | undefined;
}

/** More than anybody reads at once. */
export const MAX_ROWS = 100;

export function findRows(world: World, { order, status }: Filter): Row[] {
  const wanted = order.trim().toLowerCase();
  const found: Transaction[] = [];
  for (const transaction of world.transactions.newest()) {
    if (status && transaction.status !== status) continue;
    if (wanted && !transaction.orderId.toLowerCase().includes(wanted)) continue;
    found.push(transaction);
    if (found.length >= MAX_ROWS) break;
  }
  const webhooks = lastWebhooks(world, found);
  return found.map((transaction) => ({ transaction, webhook: webhooks.get(transaction.id) }));
}

/** All that told of a transaction, the latest first. */
export function webhooksOf(world: World, { id, createdAt }: Transaction): Webhook[] {
  const found: Webhook[] = [];
  for (const webhook of world.webhooks.newest()) {
    if (webhook.createdAt < createdAt) break;
    if (webhook.transactionId === id) found.push(webhook);
  }
  return found;
}

function lastWebhooks(world: World, transactions: Transaction[]): Map<string, Webhook> {
  const missing = new Set(transactions.map(({ id }) => id));
  // Older than the oldest transaction, none can be of any of them.
  const since = transactions.at(-1)?.createdAt ?? 0;
  const found = new Map<string, Webhook>();
  for (const webhook of world.webhooks.newest()) {
    if (missing.size === 0 || webhook.createdAt < since) break;
    const id = webhook.transactionId ?? "";
    if (missing.delete(id)) found.set(id, webhook);
  }
  return found;
}
