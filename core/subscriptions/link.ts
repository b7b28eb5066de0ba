/**
 * Finds the subscription that a transaction was made for. If a notification does not prove which
 * one, enqueues a check of it.
 */

import { validate as isUuid } from "uuid";
import { insertJobs } from "../../db/jobs/jobs.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import {
  claimCheck,
  findSubscription,
  findSubscriptionByGatewayId,
  type GatewaySubscription,
  listSubscriptionsOfName,
} from "../../db/billing/subscriptions.ts";
import { id as idField, type JsonObject } from "../gateway/json.ts";
import type { Transaction } from "../gateway/responses.ts";
import type { Link } from "../payments/adopt.ts";
import { amountOf } from "../payments/transaction.ts";
import type { Service } from "../service.ts";
import { checkSubscriptionJob } from "./subscription_record.ts";

export function linkToSubscription({ id, user_id }: GatewaySubscription): Link {
  return { user_id, invoice_id: null, subscription_id: id, checkout_id: null };
}

/** `notified`: the metadata in the notification about the transaction, which is not signed. */
export async function findSubscriptionLink(
  { database }: Service,
  notified: Transaction["metadata"],
  answer: Transaction,
): Promise<Link | null> {
  // Callers cannot set `subscription_ref`, so only the service can have set it.
  const confirmed = answer.metadata?.subscription_ref ?? null;
  const ref = confirmed ?? notified?.subscription_ref;
  if (typeof ref !== "string" || !isUuid(ref)) return null;
  const found = await database.query((sql) => findSubscription(sql, ref), "find subscription");
  // A reference from the notification is not signed, so other fields must match, too.
  const isProven = found !== null && (confirmed !== null || isLikeCharge(found, answer));
  return isProven ? linkToSubscription(found) : null;
}

/** Whether a transaction without a reference looks like a charge of this subscription. */
function isLikeCharge(
  { name, payment_type, amount, currency }: GatewaySubscription,
  answer: Transaction,
): boolean {
  return subscriptionNameIn(answer.order_id ?? "") === name &&
    answer.payment_type === payment_type && amountOf(answer) === amount &&
    (answer.currency ?? currency) === currency;
}

/**
 * The order id of a charge is the subscription's name followed by 32 digits. Returns the name;
 * null: the order id has another form.
 */
function subscriptionNameIn(orderId: string): string | null {
  return orderId.match(/^(.{1,40})\d{32}$/s)?.[1] ?? null;
}

/** Any client can send unsigned notifications, so the requests they cause are limited. */
const MIN_INTERVAL_MS = 60_000;

/**
 * Enqueues a check of the subscription that an unsigned notification names, at most once a minute.
 * Ignores a notification about a subscription that is not stored here.
 */
export async function checkNotifiedSubscription(
  service: Service,
  body: JsonObject,
): Promise<void> {
  const named = (body.subscription ?? body) as JsonObject;
  const gatewayId = idField(named.id);
  if (gatewayId === null) return;
  const known = await findNotified(service, gatewayId, named);
  if (known) await enqueueCheck(service, known, gatewayId);
}

async function findNotified(
  { database }: Service,
  gatewayId: string,
  { metadata }: JsonObject,
): Promise<GatewaySubscription | null> {
  const found = await database.query(
    (sql) => findSubscriptionByGatewayId(sql, gatewayId),
    "find subscription",
  );
  if (found) return found;
  const ref = (metadata as JsonObject | null | undefined)?.subscription_ref;
  if (typeof ref !== "string" || !isUuid(ref)) return null;
  const named = await database.query((sql) => findSubscription(sql, ref), "find subscription");
  // A subscription that is not pending has another gateway id, or was refused by the gateway.
  return named?.status === "pending" ? named : null;
}

/** Several subscriptions can have the same name, and each check is a request to the gateway. */
const MAX_CANDIDATES = 10;

/**
 * Enqueues checks for a payment without a link: the order id may contain a subscription's name.
 * Each check finds out whether the gateway lists the charge for a subscription with this name.
 */
export async function checkSubscriptionsByName(
  service: Service,
  { user_id, order_id }: GatewayPayment,
): Promise<void> {
  const name = subscriptionNameIn(order_id);
  if (user_id !== null || name === null) return;
  const candidates = await service.database.query(
    (sql) => listSubscriptionsOfName(sql, name, MAX_CANDIDATES),
    "list subscriptions of name",
  );
  for (const subscription of candidates) await enqueueCheck(service, subscription, null);
}

async function enqueueCheck(
  { database, jobQueue, clock }: Service,
  subscription: GatewaySubscription,
  gatewayId: string | null,
): Promise<void> {
  const now = new Date(clock());
  const since = new Date(now.getTime() - MIN_INTERVAL_MS);
  const { isClaimed, checked_at } = await database.query(
    (sql) => claimCheck(sql, subscription.id, now, since),
    "claim check",
  );
  const last = checked_at?.getTime() ?? 0;
  const job = checkSubscriptionJob(subscription, now);
  const check = {
    ...job,
    run_at: isClaimed ? now : new Date(last + MIN_INTERVAL_MS),
    payload: { ...job.payload, ...gatewayId && { gateway_subscription_id: gatewayId } },
  };
  const waiting = await database.query((sql) => insertJobs(sql, [check]), "enqueue check");
  for (const each of waiting) jobQueue.enqueue(each);
}
