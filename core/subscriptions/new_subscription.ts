/** A subscription before anybody else knows of it. */

import type { GatewaySubscription } from "../../db/subscriptions.ts";
import { newId } from "../ids.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import type { SubscriptionInput } from "./subscription_input.ts";

/** All but its token. */
export function newSubscription(
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
    event_count: 0,
    version: 0,
    created_at: now,
    updated_at: now,
  };
}
