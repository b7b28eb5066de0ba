/** A subscription in the gateway's own words. */

import { isoMicros } from "../world/time.ts";
import type { World } from "../world/world.ts";
import type { Subscription } from "./subscription.ts";

export function describeSubscription(world: World, subscription: Subscription) {
  const { schedule, retry, customer } = subscription;
  return {
    id: subscription.id,
    name: subscription.name,
    amount: String(subscription.amount),
    currency: subscription.currency,
    // This one time is written without its zone (G§7).
    created_at: isoMicros(subscription.createdAt).slice(0, -1),
    schedule: {
      interval: schedule.interval,
      interval_unit: schedule.unit,
      current_interval: schedule.current,
      ...schedule.maxInterval !== null && { max_interval: schedule.maxInterval },
      start_time: isoMicros(schedule.startAt),
      previous_execution_at: schedule.previousAt && isoMicros(schedule.previousAt),
      next_execution_at: schedule.nextAt && isoMicros(schedule.nextAt),
    },
    retry_schedule: {
      interval: retry.interval,
      interval_unit: retry.unit,
      max_interval: retry.maxInterval,
    },
    status: subscription.status,
    token: subscription.token,
    payment_type: subscription.paymentType,
    merchant_id: world.merchant.id,
    transaction_ids: subscription.transactionIds,
    metadata: subscription.metadata,
    ...customer && { customer_details: customer },
    ...subscription.accountId !== null && { gopay: { account_id: subscription.accountId } },
  };
}
