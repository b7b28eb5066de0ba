/** Transactions and webhooks as the control API returns them. */

import { statusResponse } from "../charges/responses.ts";
import type { Transaction } from "../world/transaction.ts";
import type { Webhook } from "../world/webhook.ts";
import type { World } from "../world/world.ts";

const LIST_LIMIT = 100;

export function listTransactions(world: World, query: Record<string, string>) {
  const { transactions } = world;
  const candidates = query.order_id
    ? transactions.find(`order:${query.order_id}`)
    : query.status
    ? transactions.find(`status:${query.status}`)
    : transactions.newest();
  return Iterator.from(candidates)
    .filter(({ status }) => !query.status || status === query.status)
    .take(LIST_LIMIT)
    .map((transaction) => describeTransaction(world, transaction))
    .toArray();
}

export function listWebhooks(world: World, query: Record<string, string>) {
  const { webhooks } = world;
  const candidates = query.transaction_id
    ? webhooks.find(`transaction:${query.transaction_id}`)
    : query.state
    ? webhooks.find(`state:${query.state}`)
    : webhooks.newest();
  return Iterator.from(candidates)
    .filter(({ state }) => !query.state || state === query.state)
    .take(LIST_LIMIT)
    .map(describeWebhook)
    .toArray();
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
