/** Enqueues checks of subscriptions after notifications that prove nothing by themselves. */

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
import type { RecordDeps } from "../records/record.ts";
import { checkSubscriptionJob, subscriptionNameIn } from "./subscription_record.ts";

/** Any client can send unsigned notifications, so the requests they cause are limited. */
const MIN_INTERVAL_MS = 60_000;

/**
 * Enqueues a check of the subscription that an unsigned notification names, at most once a minute.
 * Ignores a notification about a subscription that is not stored here.
 */
export async function checkNotifiedSubscription(
  deps: RecordDeps,
  body: JsonObject,
): Promise<void> {
  const named = (body.subscription ?? body) as JsonObject;
  const gatewayId = idField(named.id);
  if (gatewayId === null) return;
  const known = await findNotified(deps, gatewayId, named);
  if (known) await enqueueCheck(deps, known, gatewayId);
}

async function findNotified(
  { database }: RecordDeps,
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
  deps: RecordDeps,
  { user_id, order_id }: GatewayPayment,
): Promise<void> {
  const name = subscriptionNameIn(order_id);
  if (user_id !== null || name === null) return;
  const candidates = await deps.database.query(
    (sql) => listSubscriptionsOfName(sql, name, MAX_CANDIDATES),
    "list subscriptions of name",
  );
  for (const subscription of candidates) await enqueueCheck(deps, subscription, null);
}

async function enqueueCheck(
  { database, jobQueue, clock }: RecordDeps,
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
