/** `check_subscription_status`: fetches one subscription's state, and finishes what was asked of it. */

import type { GatewayJob } from "../../db/jobs.ts";
import { findSubscription, type GatewaySubscription } from "../../db/subscriptions.ts";
import { GatewayError, meansNoSuch } from "../gateway/errors.ts";
import type { Task } from "../jobs/task.ts";
import { changeRecord } from "../records/change.ts";
import type { RecordDeps } from "../records/deps.ts";
import { callFor, giveUpIntent } from "./act.ts";
import { hear, hearDone } from "./gate.ts";
import { subscriptionKind } from "./kind.ts";
import { isOurs } from "./recognize.ts";
import { refreshSubscription } from "./refresh.ts";

const SOURCE = "check_subscription_status";

export function createCheckSubscriptionStatus(deps: RecordDeps): Task {
  return {
    retries: 3,
    firstDelayMs: 60_000,
    run: async ({ subject_id, payload }: GatewayJob) =>
      await checkSubscriptionStatus(deps, subject_id!, {
        notificationId: payload.notification_id as string | undefined,
        namedAs: payload.gateway_subscription_id as string | undefined,
      }),
  };
}

/** What it found, for the job's record. */
export interface Check {
  status: string;
}

export interface Hint {
  notificationId?: string;
  /** What the gateway may know it by, where its creation was never answered. */
  namedAs?: string;
}

export async function checkSubscriptionStatus(
  deps: RecordDeps,
  id: string,
  { notificationId, namedAs }: Hint = {},
): Promise<Check | null> {
  const known = await deps.database.query((sql) => findSubscription(sql, id), "find subscription");
  if (!known) return null;
  const named = known.gateway_subscription_id === null
    ? await findUnanswered(deps, known, namedAs ?? null)
    : known;
  const asked = await finishAction(deps, named);
  const { status } = await refreshSubscription(deps, asked, SOURCE, notificationId ?? null);
  return { status };
}

/** One whose creation was never answered may turn out to have been made after all. */
async function findUnanswered(
  deps: RecordDeps,
  subscription: GatewaySubscription,
  namedAs: string | null,
): Promise<GatewaySubscription> {
  if (subscription.status !== "pending") return subscription;
  const answer = namedAs === null ? null : await deps.gateway.getSubscription(namedAs)
    .catch((error) => {
      if (meansNoSuch(error)) return null;
      throw error;
    });
  if (answer && isOurs(subscription, answer.body)) {
    const hearing = { answer: answer.body, source: SOURCE, askedAt: subscription.version } as const;
    return (await hear(deps, subscription, hearing)).subscription;
  }
  // All that is left is that the gateway tells of it by itself.
  const now = new Date(deps.clock());
  return await changeRecord(
    deps,
    subscriptionKind,
    subscription,
    () => ({ set: { check_at: null, checked_at: now } }),
  );
}

/** What the gateway was asked for and did not answer is asked for again. */
async function finishAction(
  deps: RecordDeps,
  subscription: GatewaySubscription,
): Promise<GatewaySubscription> {
  const { intent } = subscription;
  if (intent === null || subscription.gateway_subscription_id === null) return subscription;
  try {
    await callFor(deps.gateway, intent, subscription);
    return await hearDone(deps, subscription, intent);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.outcome !== "refused") throw error;
    if (error.statusCode !== "400" && !meansNoSuch(error)) throw error;
    return await giveUpIntent(deps, subscription, intent);
  }
}
