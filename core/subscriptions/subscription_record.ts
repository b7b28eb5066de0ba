/** Subscriptions as records: how they are stored and followed up, and their problem documents. */

import { fixedNames } from "../../db/records/columns.ts";
import type { NewJob } from "../../db/jobs/jobs.ts";
import {
  findSubscription,
  type GatewaySubscription,
  SUBSCRIPTION_COLUMNS,
  subscriptionInserts,
  subscriptionWrites,
} from "../../db/billing/subscriptions.ts";
import { CHECK_SUBSCRIPTION_STATUS } from "../jobs/task_names.ts";
import { isAmount } from "../money.ts";
import { type JobSubject, newJob } from "../records/new_job.ts";
import { UNANSWERED_CHECK_MS } from "../records/check_times.ts";
import { createProblems } from "../records/problems.ts";
import { type CreatedKind, findReset } from "../records/record.ts";
import { canFollow, isStopped, type SubscriptionStatus } from "./states.ts";
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

export const subscriptionKind: CreatedKind<GatewaySubscription, SubscriptionView> = {
  resource: "subscription",
  find: findSubscription,
  inserts: subscriptionInserts,
  writes: subscriptionWrites,
  view: viewSubscription,
  shownOf,
  stateOf: ({ status }) => ({ status, fraud: null }),
  fixed: fixedNames(SUBSCRIPTION_COLUMNS),
  findViolation,
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

function findViolation(
  subscription: GatewaySubscription,
  before: GatewaySubscription | null,
): string | null {
  const { amount, status, ended_at } = subscription;
  if (!isAmount(amount)) return `amount cannot be ${amount}`;
  if (!before) return null;
  if (!canFollow(before.status, status)) {
    return `its status cannot go from ${before.status} to ${status}`;
  }
  if (status !== before.status && isStopped(status) !== (ended_at !== null)) {
    return `ended_at is ${ended_at ? "set" : "missing"} although it is ${status}`;
  }
  return findReset(subscription, before, ["gateway_subscription_id"]);
}
