/** Transactions and webhooks as the control API returns them. */

import { statusResponse } from "../charges/responses.ts";
import type { Transaction } from "../world/transaction.ts";
import type { Webhook } from "../world/webhook.ts";
import type { World } from "../world/world.ts";

const LIST_LIMIT = 100;

export function listTransactions(world: World, query: Record<string, string>) {
  const found = [];
  for (const transaction of world.transactions.newest()) {
    if (query.status && transaction.status !== query.status) continue;
    if (query.order_id && transaction.orderId !== query.order_id) continue;
    found.push(describeTransaction(world, transaction));
    if (found.length >= LIST_LIMIT) break;
  }
  return found;
}

export function listWebhooks(world: World, query: Record<string, string>) {
  const found = [];
  for (const webhook of world.webhooks.newest()) {
    if (query.transaction_id && webhook.transactionId !== query.transaction_id) continue;
    if (query.state && webhook.state !== query.state) continue;
    found.push(describeWebhook(webhook));
    if (found.length >= LIST_LIMIT) break;
  }
  return found;
}

export function describeTransaction(world: World, transaction: Transaction) {
  return {
    ...statusResponse(world, transaction),
    pay_url: `${world.publicUrl()}/pay/${transaction.id}`,
  };
}

export function describeWebhook(webhook: Webhook) {
  return {
    id: webhook.id,
    transaction_id: webhook.transactionId,
    cause: webhook.cause,
    event: webhook.event,
    url: webhook.url,
    state: webhook.state,
    created_at: new Date(webhook.createdAt).toISOString(),
    next_attempt_at: webhook.nextAt && new Date(webhook.nextAt).toISOString(),
    attempts: webhook.attempts.map(({ at, ...rest }) => ({
      at: new Date(at).toISOString(),
      ...rest,
    })),
    payload: JSON.parse(webhook.payload),
  };
}
