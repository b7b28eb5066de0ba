/** Transactions, webhooks and Snap pages as the control API returns them. */

import { statusResponse } from "../charges/responses.ts";
import { countFailures, redirectUrl, snapState, transactionsOf } from "../snap/pages.ts";
import { returnUrl } from "../snap/pay.ts";
import type { SnapPage } from "../world/records.ts";
import { formatMoney, type Transaction } from "../world/transaction.ts";
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

export function listSnapPages(world: World, query: Record<string, string>) {
  const { snapPages } = world;
  const pages = query.order_id ? snapPages.find(`order:${query.order_id}`) : snapPages.newest();
  return Iterator.from(pages)
    .take(LIST_LIMIT)
    .map((page) => describeSnapPage(world, page))
    .toArray();
}

export function describeSnapPage(world: World, page: SnapPage) {
  return {
    token: page.id,
    redirect_url: redirectUrl(world, page),
    order_id: page.orderId,
    gross_amount: formatMoney(page.amount),
    state: snapState(world, page),
    created_at: new Date(page.createdAt).toISOString(),
    expires_at: new Date(page.expiresAt).toISOString(),
    failures: countFailures(world, page),
    /** Oldest first. */
    transaction_ids: [...transactionsOf(world, page)].map(({ id }) => id).reverse(),
    return_url: returnUrl(world, page),
    request: page.request,
  };
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
