/**
 * Subscriptions as responses and events show them. Every member is always present; null: no value.
 */

import type { GatewaySubscription } from "../../db/billing/subscriptions.ts";
import { formatMoney } from "../money.ts";

export type SubscriptionView = ReturnType<typeof viewSubscription>;

export function viewSubscription(subscription: GatewaySubscription) {
  return {
    id: subscription.id,
    gateway_subscription_id: subscription.gateway_subscription_id,
    name: subscription.name,
    payment_type: subscription.payment_type,
    amount: formatMoney(subscription.amount),
    currency: subscription.currency,
    interval: subscription.interval,
    interval_unit: subscription.interval_unit,
    max_interval: subscription.max_interval,
    current_interval: subscription.current_interval,
    start_time: subscription.start_time?.toISOString() ?? null,
    next_execution_at: subscription.next_execution_at?.toISOString() ?? null,
    status: subscription.status,
    customer_first_name: subscription.customer_first_name,
    customer_last_name: subscription.customer_last_name,
    customer_email: subscription.customer_email,
    customer_phone: subscription.customer_phone,
    metadata: subscription.metadata,
    created_at: subscription.created_at.toISOString(),
    updated_at: subscription.updated_at.toISOString(),
  };
}

/**
 * The values of a subscription that a form of the console shows. Its action is refused if they have
 * changed.
 */
export function shownOf(subscription: SubscriptionView): string {
  const { status, amount, interval, interval_unit } = subscription;
  return `${status} ${amount} ${interval} ${interval_unit}`;
}
