/** Subscriptions as records: how they are stored and followed up, and their problem documents. */

import type { NewJob } from "../../db/jobs/jobs.ts";
import {
  findSubscription,
  type GatewaySubscription,
  subscriptionInserts,
  subscriptionWrites,
} from "../../db/billing/subscriptions.ts";
import { CHECK_SUBSCRIPTION_STATUS } from "../jobs/task_names.ts";
import { type JobSubject, newJob } from "../records/outbox.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import { createProblems } from "../records/problems.ts";
import type { RecordKind } from "../records/record.ts";
import type { SubscriptionStatus } from "./states.ts";
import { shownOf, type SubscriptionView, viewSubscription } from "./views.ts";

export const problems = createProblems<GatewaySubscription>(
  ({ id }) => ({ subscription_id: id }),
  ({ status }) => ({ subscription_status: status }),
);

/**
 * The job that checks a subscription. It runs after `UNANSWERED_CHECK_MS`, which is longer than any
 * call to the gateway takes.
 */
export function checkSubscriptionJob(subscription: JobSubject, now: Date): NewJob {
  const runAt = new Date(now.getTime() + UNANSWERED_CHECK_MS);
  const payload = { subscription_id: subscription.id };
  return newJob(CHECK_SUBSCRIPTION_STATUS, subscription, payload, { runAt, now });
}

export const subscriptionKind: RecordKind<GatewaySubscription, SubscriptionView> = {
  resource: "subscription",
  find: findSubscription,
  inserts: subscriptionInserts,
  writes: subscriptionWrites,
  view: viewSubscription,
  shownOf,
  stateOf: ({ status }) => ({ status, fraud: null }),
  apply: (current, { set, transition }) => ({
    ...current,
    ...set,
    ...transition && { status: transition.to.status as SubscriptionStatus },
  }),
  belongsInHistory: (before, after) => before.status !== after.status,
  followUps: () => [],
  checkJob: checkSubscriptionJob,
  problems,
};

/**
 * The metadata as it is sent to the gateway, which copies it to each charge. `subscription_ref`
 * shows to which subscription a charge belongs.
 */
export function gatewayMetadata(
  { id, metadata }: Pick<GatewaySubscription, "id" | "metadata">,
): object {
  return { ...metadata, subscription_ref: id };
}
