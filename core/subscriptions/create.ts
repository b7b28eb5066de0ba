/** `createSubscription`: written before the gateway is asked and finished when it answered. */

import { subscriptionInserts } from "../../db/subscriptions.ts";
import type { Caller } from "../auth/caller.ts";
import { invalidField } from "../errors.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import * as keys from "../idempotency/keys.ts";
import { create } from "../records/create.ts";
import type { RecordDeps } from "../records/deps.ts";
import { sendingBy } from "../records/send_creation.ts";
import { subscriptionKind } from "./kind.ts";
import { newSubscription } from "./new_subscription.ts";
import { sendingSubscriptions } from "./send_subscription.ts";
import type { SubscriptionInput } from "./subscription_input.ts";
import type { SubscriptionView } from "./views.ts";

export async function createSubscription(
  deps: RecordDeps,
  caller: Caller,
  input: SubscriptionInput,
  attempt: KeyedAttempt | null,
): Promise<Outcome<SubscriptionView>> {
  const { start_time } = input;
  const isLate = start_time !== undefined && start_time.getTime() <= deps.clock();
  if (isLate && !(attempt && await keys.isKnown(deps, caller, attempt))) {
    throw invalidField("start_time", "must be in the future");
  }
  return await create(deps, caller, attempt, {
    kind: subscriptionKind,
    inserting: subscriptionInserts,
    draw: (now) => newSubscription(input, caller.userId, now),
    ...sendingBy(deps, subscriptionKind, sendingSubscriptions(deps, input)),
  });
}
