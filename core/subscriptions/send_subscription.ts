/** How a subscription is sent to the gateway. */

import type { GatewaySubscription } from "../../db/subscriptions.ts";
import type { Subscription } from "../gateway/responses.ts";
import type { RecordDeps } from "../records/deps.ts";
import type { Sending } from "../records/send_creation.ts";
import { hear, hearRefusal } from "./gate.ts";
import { answersCreation } from "./recognize.ts";
import type { SubscriptionInput } from "./subscription_input.ts";
import { subscriptionPayload } from "./subscription_payload.ts";

export function sendingSubscriptions(
  deps: RecordDeps,
  input: SubscriptionInput,
): Sending<GatewaySubscription, Subscription> {
  return {
    // G§1.4.
    windowMs: 3 * 60_000,
    call: (subscription) =>
      deps.gateway.createSubscription(subscriptionPayload(input, subscription), {
        idempotencyKey: subscription.id,
      }),
    isAnswer: answersCreation,
    async hear(subscription, answer, key) {
      const hearing = { answer, source: "create", askedAt: subscription.version, key } as const;
      return (await hear(deps, subscription, hearing)).record;
    },
    hearRefusal: (subscription, key) => hearRefusal(deps, subscription, key),
  };
}
