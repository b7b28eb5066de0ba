/** `updateSubscription`: another name, amount, interval or token, from the next cycle on. */

import type { GatewaySubscription } from "../../db/subscriptions.ts";
import type { Caller } from "../auth/caller.ts";
import type { Message } from "../gateway/responses.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import { act } from "../records/act.ts";
import { changeRecord } from "../records/change.ts";
import type { RecordDeps } from "../records/deps.ts";
import { isDone } from "./act.ts";
import { subscriptionKind } from "./kind.ts";
import { problems } from "./problems.ts";
import { refreshed } from "./refreshed.ts";
import type { SubscriptionUpdate } from "./subscription_input.ts";
import { updatePayload } from "./subscription_payload.ts";
import type { SubscriptionView } from "./views.ts";

export async function updateSubscription(
  deps: RecordDeps,
  caller: Caller,
  id: string,
  update: SubscriptionUpdate,
  attempt: KeyedAttempt | null,
): Promise<Outcome<SubscriptionView>> {
  const { invalidState } = problems;
  const { name, amount, interval } = update;
  return await act<GatewaySubscription, Message, SubscriptionView>(
    deps,
    subscriptionKind,
    caller,
    id,
    attempt,
    () => ({
      check(subscription) {
        const isThere = subscription.gateway_subscription_id !== null;
        if (isThere && subscription.status !== "cancelled") return;
        const detail = `A subscription that is ${subscription.status} cannot be changed.`;
        throw invalidState(subscription, detail);
      },
      ready: (subscription) => Promise.resolve(subscription),
      call: (subscription) =>
        deps.gateway.updateSubscription(
          subscription.gateway_subscription_id!,
          updatePayload(update, subscription),
        ),
      take: async (subscription, answer, key) =>
        isDone(answer)
          ? await changeRecord(deps, subscriptionKind, subscription, (current) => ({
            set: {
              name: name ?? current.name,
              amount: amount ?? current.amount,
              interval: interval ?? current.interval,
            },
            key,
          }))
          : null,
      isStateRefusal: () => false,
      refresh: (subscription, outcome) => refreshed(deps, subscription, "update", outcome),
      // Whether its token is another nobody can tell: it is sent once more.
      isIn: () => false,
    }),
  );
}
