/** `getSubscriptionStatus`: a subscription as the gateway sees it now, with what it has charged. */

import type { Caller } from "../auth/caller.ts";
import type { RecordDeps } from "../records/deps.ts";
import { findOwn } from "../records/read.ts";
import { subscriptionKind } from "./kind.ts";
import { problems } from "./problems.ts";
import { refreshSubscription } from "./refresh.ts";
import { takeCharges } from "./take_charges.ts";
import { type SubscriptionView, viewSubscription } from "./views.ts";

export async function getSubscriptionStatus(
  deps: RecordDeps,
  caller: Caller,
  id: string,
): Promise<SubscriptionView> {
  const known = await findOwn(deps, subscriptionKind, caller, id);
  return await problems.asking(known, "refused", async () => {
    const refreshed = await refreshSubscription(deps, known, "get_subscription_status");
    const { subscription, answer } = refreshed;
    return viewSubscription(
      answer ? await takeCharges(deps, subscription, answer, null) : subscription,
    );
  });
}
