/** Subscriptions as records. */

import {
  findSubscription,
  type GatewaySubscription,
  subscriptionWrites,
} from "../../db/subscriptions.ts";
import type { Kind } from "../records/kind.ts";
import { checkJob } from "./check_job.ts";
import { problems } from "./problems.ts";
import type { SubscriptionStatus } from "./states.ts";
import { type SubscriptionView, viewSubscription } from "./views.ts";

export const subscriptionKind: Kind<GatewaySubscription, SubscriptionView> = {
  resource: "subscription",
  find: findSubscription,
  writing: subscriptionWrites,
  view: viewSubscription,
  stateOf: ({ status }) => ({ status, fraud: null }),
  apply: (current, { set, transition }) => ({
    ...current,
    ...set,
    ...transition && { status: transition.to.status as SubscriptionStatus },
  }),
  isNews: (before, after) => before.status !== after.status,
  followUps: () => [],
  checkJob,
  problems,
};
