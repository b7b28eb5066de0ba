/** `getSubscriptionStatus`: a subscription as the gateway sees it now. */

import type { Caller } from "../auth/caller.ts";
import type { RecordDeps } from "../records/deps.ts";
import { findOwn } from "../records/read.ts";
import { subscriptionKind } from "./kind.ts";
import { refreshed } from "./refreshed.ts";
import { type SubscriptionView, viewSubscription } from "./views.ts";

export async function getSubscriptionStatus(
  deps: RecordDeps,
  caller: Caller,
  id: string,
): Promise<SubscriptionView> {
  const known = await findOwn(deps, subscriptionKind, caller, id);
  return viewSubscription(await refreshed(deps, known, "get_subscription_status", "refused"));
}
