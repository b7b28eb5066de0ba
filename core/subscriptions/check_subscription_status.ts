/** `check_subscription_status`: fetches one subscription's state, and finishes what was asked of it. */

import type { GatewayJob } from "../../db/jobs.ts";
import { findPayment } from "../../db/payment_statements.ts";
import {
  findSubscription,
  type GatewaySubscription,
  listUnrecordedCharges,
  recordCheck,
} from "../../db/subscriptions.ts";
import { GatewayAPIError, GatewayError, meansNoSuch } from "../gateway/errors.ts";
import { PostponeJob, type Task } from "../jobs/task.ts";
import { changeRecord } from "../records/change.ts";
import { SLOWNESS_MS, soon } from "../records/check_times.ts";
import type { RecordDeps } from "../records/deps.ts";
import { callFor, giveUpIntent, isDone } from "./act.ts";
import { hear, hearDone } from "./gate.ts";
import { subscriptionKind } from "./kind.ts";
import { isOurs } from "./recognize.ts";
import { refreshSubscription } from "./refresh.ts";
import { takeCharges } from "./take_charges.ts";

const SOURCE = "check_subscription_status";

export function createCheckSubscriptionStatus(deps: RecordDeps): Task {
  return {
    retries: 3,
    firstDelayMs: 60_000,
    run: async ({ subject_id, payload }: GatewayJob) =>
      await checkSubscriptionStatus(deps, subject_id!, {
        notificationId: payload.notification_id as string | undefined,
        paymentId: payload.payment_id as string | undefined,
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
  /** The payment that told of it. */
  paymentId?: string;
  /** What the gateway may know it by, where its creation was never answered. */
  namedAs?: string;
}

export async function checkSubscriptionStatus(
  deps: RecordDeps,
  id: string,
  { notificationId, paymentId, namedAs }: Hint = {},
): Promise<Check | null> {
  const now = new Date(deps.clock());
  // Before it is asked: hints that come meanwhile must not make it two questions.
  await deps.database.query((sql) => recordCheck(sql, id, now), "note look");
  const known = await deps.database.query((sql) => findSubscription(sql, id), "find subscription");
  if (!known) return null;
  const named = known.gateway_subscription_id === null
    ? await findUnanswered(deps, known, namedAs ?? null)
    : known;
  const asked = await finishAction(deps, named);
  const { subscription, answer } = await refreshSubscription(deps, asked, SOURCE);
  if (answer) await takeCharges(deps, subscription, answer, notificationId ?? null);
  if (paymentId) await waitForCharge(deps, paymentId);
  return { status: subscription.status };
}

/** What was paid a moment ago, the gateway may not have brought to the subscription yet. */
async function waitForCharge({ database, clock }: RecordDeps, paymentId: string): Promise<void> {
  const now = clock();
  const payment = await database.query((sql) => findPayment(sql, paymentId), "find payment");
  const paidAt = payment?.paid_at?.getTime() ?? 0;
  if (!payment || paidAt < now - SLOWNESS_MS) return;
  const untold = await database.query(
    (sql) => listUnrecordedCharges(sql, [payment.transaction_id!]),
    "list charges of subscription",
  );
  if (untold.length > 0) throw new PostponeJob(soon(now));
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
    return (await hear(deps, subscription, hearing)).record;
  }
  // All that is left is that the gateway tells of it by itself.
  return await changeRecord(
    deps,
    subscriptionKind,
    subscription,
    ({ check_at }) => check_at ? { set: { check_at: null } } : null,
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
    const answer = await callFor(deps.gateway, intent, subscription);
    if (isDone(answer)) return await hearDone(deps, subscription, intent);
    throw new GatewayAPIError(`The gateway does not say whether it did ${intent}`, {
      failure: "answered",
      outcome: "unknown",
      statusCode: answer.statusCode,
    });
  } catch (error) {
    if (!(error instanceof GatewayError) || error.outcome !== "refused") throw error;
    // Only this is an answer to what was asked; a wrong key, for one, is not.
    if (error.statusCode !== "400") throw error;
    const about = { subscription_id: subscription.id, action: intent };
    deps.log.error("subscription_action_refused", error, about);
    return await giveUpIntent(deps, subscription, intent);
  }
}
