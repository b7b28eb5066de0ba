/** Tells whether an answer of the gateway is about a subscription, or about somebody else's. */

import type { GatewaySubscription } from "../../db/subscriptions.ts";
import type { Subscription } from "../gateway/responses.ts";
import { parseMoney } from "../money.ts";

/** Whether an answer is about the subscription that this one is known to be. */
export function isAbout(
  { gateway_subscription_id }: GatewaySubscription,
  answer: Subscription,
): boolean {
  return answer.id !== null && answer.id === gateway_subscription_id && isKnownStatus(answer);
}

/** Whether an answer to our own request is one. */
export function answersCreation(subscription: GatewaySubscription, answer: Subscription): boolean {
  return answer.id !== null && isKnownStatus(answer) &&
    (answer.name ?? subscription.name) === subscription.name &&
    (answer.payment_type ?? subscription.payment_type) === subscription.payment_type &&
    (answer.amount === null || parseMoney(answer.amount) === subscription.amount);
}

/**
 * Whether one that somebody named is the one that was to be made: what only we can have put there is
 * our own id.
 */
export function isOurs(subscription: GatewaySubscription, answer: Subscription): boolean {
  return answer.metadata?.subscription_ref === subscription.id &&
    answersCreation(subscription, answer);
}

function isKnownStatus({ status }: Subscription): boolean {
  return status === "active" || status === "inactive";
}
