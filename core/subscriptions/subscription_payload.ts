/** The gateway's requests of a subscription. */

import type { GatewaySubscription } from "../../db/subscriptions.ts";
import { formatWib } from "../gateway/times.ts";
import type { SubscriptionInput, SubscriptionUpdate } from "./subscription_input.ts";

export function subscriptionPayload(
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
    // By this its charges are known as its own.
    metadata: { ...input.metadata, subscription_ref: id },
    ...customer_details && { customer_details },
    ...input.gopay_account_id && { gopay: { account_id: input.gopay_account_id } },
  };
}

export function updatePayload(
  { token, name, amount, interval, retry_schedule, gopay_account_id }: SubscriptionUpdate,
  subscription: GatewaySubscription,
): object {
  return {
    name: name ?? subscription.name,
    amount: String(amount ?? subscription.amount),
    currency: subscription.currency,
    token,
    ...interval !== undefined && { schedule: { interval } },
    ...retry_schedule && { retry_schedule },
    ...gopay_account_id && { gopay: { account_id: gopay_account_id } },
  };
}
