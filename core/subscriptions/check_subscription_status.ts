/** `check_subscription_status`: repeats an unanswered action, and checks the subscription. */

import type { GatewayJob } from "../../db/jobs/jobs.ts";
import { findPayment } from "../../db/payments/statements.ts";
import {
  findSubscription,
  type GatewaySubscription,
  listUnrecordedCharges,
  recordCheck,
} from "../../db/billing/subscriptions.ts";
import { GatewayError, isResourceNotFound, unusableResponse } from "../gateway/errors.ts";
import type { Subscription } from "../gateway/responses.ts";
import { PostponeJob, type Task } from "../jobs/task.ts";
import { stopChecks } from "../records/change.ts";
import { inOneMinute, PROPAGATION_MS } from "../records/check_times.ts";
import type { Service } from "../service.ts";
import { callForAction, confirmsAction, removeIntent } from "./actions.ts";
import { applyAction, applyReport, isOurs } from "./apply_report.ts";
import { adoptCharges, checkAtGateway } from "./check_at_gateway.ts";
import { subscriptionKind } from "./subscription_record.ts";

const SOURCE = "check_subscription_status";

export function createCheckSubscriptionStatus(service: Service): Task {
  return {
    retries: 3,
    firstDelayMs: 60_000,
    run: async ({ subject_id, payload }: GatewayJob) =>
      await checkSubscriptionStatus(service, subject_id!, {
        notificationId: payload.notification_id as string | undefined,
        paymentId: payload.payment_id as string | undefined,
        gatewayId: payload.gateway_subscription_id as string | undefined,
      }),
  };
}

/** The job's result. */
export interface CheckResult {
  status: string;
}

/** Why the check was enqueued. */
export interface CheckReason {
  notificationId?: string;
  /** The payment whose change caused the check. */
  paymentId?: string;
  /** The gateway's id from a notification, for a subscription whose creation was not answered. */
  gatewayId?: string;
}

export async function checkSubscriptionStatus(
  service: Service,
  id: string,
  { notificationId, paymentId, gatewayId }: CheckReason = {},
): Promise<CheckResult | null> {
  const now = new Date(service.clock());
  // Recorded first, so that a notification during the gateway request causes no second check within
  // the next minute.
  await service.database.query((sql) => recordCheck(sql, id, now), "record check");
  const known = await service.database.query(
    (sql) => findSubscription(sql, id),
    "find subscription",
  );
  if (!known) return null;
  const identified = known.gateway_subscription_id === null
    ? await findUnanswered(service, known, gatewayId ?? null)
    : known;
  const finished = await repeatAction(service, identified);
  const { subscription, answer } = await checkAtGateway(service, finished, SOURCE);
  if (answer) await adoptCharges(service, subscription, answer, notificationId ?? null);
  if (paymentId) await requireCharge(service, paymentId);
  return { status: subscription.status };
}

/**
 * Postpones the job while a recent payment does not show on the subscription at the gateway yet.
 */
async function requireCharge({ database, clock }: Service, paymentId: string): Promise<void> {
  const now = clock();
  const payment = await database.query((sql) => findPayment(sql, paymentId), "find payment");
  const paidAt = payment?.paid_at?.getTime() ?? 0;
  if (!payment || paidAt < now - PROPAGATION_MS) return;
  const unrecorded = await database.query(
    (sql) => listUnrecordedCharges(sql, [payment.transaction_id!]),
    "list charges of subscription",
  );
  if (unrecorded.length > 0) throw new PostponeJob(inOneMinute(now));
}

/** Finds out whether the gateway created a subscription although it did not answer the request. */
async function findUnanswered(
  service: Service,
  subscription: GatewaySubscription,
  gatewayId: string | null,
): Promise<GatewaySubscription> {
  if (subscription.status !== "pending") return subscription;
  const answer = gatewayId && await requestSubscription(service, gatewayId);
  if (answer && isOurs(subscription, answer)) {
    const report = { answer, source: SOURCE, askedAtVersion: subscription.version } as const;
    return (await applyReport(service, subscription, report)).subscription;
  }
  // From now on, only a notification can show that the gateway created the subscription.
  return await stopChecks(service, subscriptionKind, subscription);
}

/** Null: the gateway has no such subscription. */
async function requestSubscription(
  { gateway }: Service,
  gatewayId: string,
): Promise<Subscription | null> {
  try {
    return (await gateway.getSubscription(gatewayId)).body;
  } catch (error) {
    if (isResourceNotFound(error)) return null;
    throw error;
  }
}

/** Repeats an action that the gateway did not answer. */
async function repeatAction(
  service: Service,
  subscription: GatewaySubscription,
): Promise<GatewaySubscription> {
  const { intent } = subscription;
  if (intent === null || subscription.gateway_subscription_id === null) return subscription;
  try {
    const answer = await callForAction(service.gateway, intent, subscription);
    if (confirmsAction(answer)) return await applyAction(service, subscription, intent);
    throw unusableResponse(
      `The gateway's response did not say whether ${intent} succeeded`,
      answer.statusCode,
    );
  } catch (error) {
    if (!(error instanceof GatewayError) || error.outcome !== "refused") throw error;
    // Only 400 refuses the action itself. Other codes, such as 401, refuse the call.
    if (error.statusCode !== "400") throw error;
    const fields = { subscription_id: subscription.id, action: intent };
    service.log.error("subscription_action_refused", error, fields);
    return await removeIntent(service, subscription, intent);
  }
}
