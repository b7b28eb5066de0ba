/** `createSubscription`: creates a subscription at the gateway. */

import type { GatewaySubscription } from "../../db/billing/subscriptions.ts";
import type { Caller } from "../auth/caller.ts";
import { invalidField } from "../errors.ts";
import type { Subscription } from "../gateway/responses.ts";
import { formatWib } from "../gateway/times.ts";
import { isKeyUsed, type RequestKey, type RequestResult } from "../idempotency/keys.ts";
import { newId } from "../ids.ts";
import { YEARS_RULE } from "../fields/input.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import { claimRecord, create, type Creation } from "../records/create.ts";
import { actAs } from "../records/record.ts";
import type { Service } from "../service.ts";
import { answersCreation, applyRefusal, applyReport } from "./apply_report.ts";
import type { SubscriptionInput } from "./subscription_input.ts";
import { gatewayMetadata, subscriptionKind } from "./subscription_record.ts";
import type { SubscriptionView } from "./views.ts";

export async function createSubscription(
  service: Service,
  caller: Caller,
  input: SubscriptionInput,
  requestKey: RequestKey | null,
): Promise<RequestResult<SubscriptionView>> {
  const asCaller = actAs(service, caller);
  await requireStartTime(asCaller, caller, input, requestKey);
  const claim = await claimRecord(
    asCaller,
    subscriptionKind,
    { caller, requestKey },
    () => newSubscription(input, caller.userId, new Date(asCaller.clock())),
  );
  return await create(asCaller, subscriptionKind, claim, subscriptionCreation(asCaller, input));
}

function subscriptionCreation(
  service: Service,
  input: SubscriptionInput,
): Creation<GatewaySubscription, Subscription> {
  return {
    resendWindowMs: 3 * 60_000,
    isResentByTask: false,
    call: (subscription, options) =>
      service.gateway.createSubscription(subscriptionPayload(input, subscription), options),
    answers: answersCreation,
    applyRefusal: (subscription, key) => applyRefusal(service, subscription, key),
    async apply(subscription, answer, key) {
      const askedAtVersion = subscription.version;
      const report = { answer, source: "create", askedAtVersion, key } as const;
      return (await applyReport(service, subscription, report)).subscription;
    },
  };
}

/**
 * Rejects a time after the year 9999 and, except in a retry with a used key, a past time: the retry
 * gets the stored reply.
 */
async function requireStartTime(
  service: Service,
  caller: Caller,
  { start_time }: SubscriptionInput,
  requestKey: RequestKey | null,
): Promise<void> {
  if (start_time === undefined) return;
  // The gateway gets the time in Western Indonesia, where the year 10000 begins 7 hours earlier.
  if (!/^\d{4}-/.test(formatWib(start_time)) && start_time.getTime() > 0) {
    throw invalidField("start_time", YEARS_RULE);
  }
  if (start_time.getTime() > service.clock()) return;
  if (requestKey && await isKeyUsed(service, caller, requestKey)) return;
  throw invalidField("start_time", "must be in the future");
}

/** The card or account token is not part of the record. */
function newSubscription(
  input: SubscriptionInput,
  userId: string,
  now: Date,
): GatewaySubscription {
  const customer = input.customer_details;
  return {
    id: newId(now),
    user_id: userId,
    gateway_subscription_id: null,
    name: input.name,
    payment_type: input.payment_type,
    amount: input.amount,
    currency: "IDR",
    interval: input.interval,
    interval_unit: input.interval_unit,
    max_interval: input.max_interval ?? null,
    current_interval: 0,
    start_time: input.start_time ?? null,
    next_execution_at: null,
    status: "pending",
    intent: null,
    ended_at: null,
    customer_first_name: customer?.first_name ?? null,
    customer_last_name: customer?.last_name ?? null,
    customer_email: customer?.email ?? null,
    customer_phone: customer?.phone ?? null,
    metadata: input.metadata ?? null,
    sent_at: now,
    checked_at: null,
    check_at: new Date(now.getTime() + UNANSWERED_CHECK_MS),
    created_by: null,
    event_count: 0,
    version: 0,
    created_at: now,
    updated_at: now,
  };
}

/** The gateway's request body. */
function subscriptionPayload(
  input: SubscriptionInput,
  { id, currency }: GatewaySubscription,
): object {
  const { interval, interval_unit, max_interval, start_time, customer_details } = input;
  return {
    name: input.name,
    amount: String(input.amount),
    currency,
    payment_type: input.payment_type,
    token: input.token,
    schedule: {
      interval,
      interval_unit,
      ...max_interval !== undefined && { max_interval },
      ...start_time && { start_time: formatWib(start_time) },
    },
    ...input.retry_schedule && { retry_schedule: input.retry_schedule },
    metadata: gatewayMetadata({ id, metadata: input.metadata ?? null }),
    ...customer_details && { customer_details },
    ...input.gopay_account_id && { gopay: { account_id: input.gopay_account_id } },
  };
}
