/** Checks subscriptions at the gateway, and adopts their charges. */

import { type GatewaySubscription, listUnrecordedCharges } from "../../db/billing/subscriptions.ts";
import type { Caller } from "../auth/caller.ts";
import {
  GatewayError,
  isResourceNotFound,
  isTransactionNotFound,
  unusableResponse,
} from "../gateway/errors.ts";
import type { JsonObject } from "../gateway/json.ts";
import type { GatewayResponse, Subscription } from "../gateway/responses.ts";
import { adoptTransaction, canAdopt } from "../payments/adopt.ts";
import { MAX_CHECKS } from "../records/check_times.ts";
import { findOwn } from "../records/read.ts";
import { actAs } from "../records/record.ts";
import type { Service } from "../service.ts";
import { applyCharge, applyReport, matchesSubscription, type Source } from "./apply_report.ts";
import { linkToSubscription } from "./link.ts";
import { problems, subscriptionKind } from "./subscription_record.ts";
import { type SubscriptionView, viewSubscription } from "./views.ts";

export interface CheckedSubscription {
  subscription: GatewaySubscription;
  /** Null: the gateway's id is not known, so the gateway could not be asked. */
  answer: Subscription | null;
  /** The gateway's response as it was sent; null: the gateway was not asked. */
  raw: JsonObject | null;
}

/** Throws a `GatewayError` if the gateway gives no usable response. */
export async function checkAtGateway(
  service: Service,
  known: GatewaySubscription,
  source: Source,
): Promise<CheckedSubscription> {
  // The gateway finds subscriptions by its own id only.
  if (known.gateway_subscription_id === null) {
    return { subscription: known, answer: null, raw: null };
  }
  for (let subscription = known, checks = 1;; checks++) {
    const { body: answer, raw } = await requestSubscription(service, subscription);
    const report = { answer, source, askedAtVersion: subscription.version };
    const applied = await applyReport(service, subscription, report);
    subscription = applied.subscription;
    if (!applied.isReportStale || checks >= MAX_CHECKS) return { subscription, answer, raw };
  }
}

const UNUSABLE_RESPONSE =
  "The gateway's response is about another subscription, or has an unknown status";

async function requestSubscription(
  { gateway, log }: Service,
  subscription: GatewaySubscription,
): Promise<GatewayResponse<Subscription>> {
  const fields = { subscription_id: subscription.id };
  try {
    const answer = await gateway.getSubscription(subscription.gateway_subscription_id!);
    if (matchesSubscription(subscription, answer.body)) return answer;
    const error = unusableResponse(UNUSABLE_RESPONSE, answer.statusCode);
    log.error("other_subscription", error, fields);
    throw error;
  } catch (error) {
    // If the gateway does not know the subscription, usually the server key is wrong or the sandbox
    // was reset. It does not mean that the subscription ended.
    if (isResourceNotFound(error)) log.error("subscription_unknown_to_gateway", error, fields);
    throw error;
  }
}

export interface CheckedSubscriptionStatus {
  subscription: SubscriptionView;
  /** Null: the gateway has not confirmed the subscription yet, so its state was not requested. */
  gateway_response: Record<string, unknown> | null;
}

/** The subscription after a check at the gateway, with its charges adopted. */
export async function getSubscriptionStatus(
  service: Service,
  caller: Caller,
  id: string,
): Promise<CheckedSubscriptionStatus> {
  const asCaller = actAs(service, caller);
  const known = await findOwn(asCaller, subscriptionKind, caller, id);
  try {
    const checked = await checkAtGateway(asCaller, known, "get_subscription_status");
    const { subscription, answer, raw } = checked;
    const current = answer
      ? await adoptCharges(asCaller, subscription, answer, null)
      : subscription;
    return { subscription: viewSubscription(current), gateway_response: raw && withoutToken(raw) };
  } catch (error) {
    throw problems.checkFailed(known, "refused", error);
  }
}

/** The token can be used to take money, so it is shown to no caller. */
function withoutToken({ token: _, ...rest }: JsonObject): JsonObject {
  return rest;
}

/**
 * Creates a payment for each charge that is not recorded yet, in the gateway's order, and an event
 * if the charge is paid. If the gateway answers the request for a charge with an error, the other
 * charges are still adopted, and the first error is thrown at the end, except "not found". If the
 * gateway does not answer, the error is thrown at once.
 */
export async function adoptCharges(
  service: Service,
  known: GatewaySubscription,
  { transaction_ids }: Subscription,
  notificationId: string | null,
): Promise<GatewaySubscription> {
  if (transaction_ids.length === 0) return known;
  const unrecorded = await service.database.query(
    (sql) => listUnrecordedCharges(sql, transaction_ids),
    "list charges of subscription",
  );
  const failures: GatewayError[] = [];
  let subscription = known;
  for (const transactionId of unrecorded) {
    try {
      subscription = await adoptCharge(service, subscription, transactionId, notificationId);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      // If the gateway is down, the other requests would fail too.
      if (error.failure !== "answered") throw error;
      if (isTransactionNotFound(error)) {
        // The gateway lists the charge but does not know it. Repeating the request would not help.
        const { id } = subscription;
        service.log.error("charge_unknown_to_gateway", error, { subscription_id: id });
      } else failures.push(error);
    }
  }
  if (failures[0]) throw failures[0];
  return subscription;
}

async function adoptCharge(
  service: Service,
  subscription: GatewaySubscription,
  transactionId: string,
  notificationId: string | null,
): Promise<GatewaySubscription> {
  const { body: answer, statusCode } = await service.gateway.getStatus(transactionId);
  if (answer.transaction_id !== transactionId || !canAdopt(answer)) {
    throw unusableResponse("The gateway's response is about another charge", statusCode);
  }
  const report = { answer, source: "check_subscription_status" } as const;
  const { payment } = await adoptTransaction(service, report, linkToSubscription(subscription));
  // A payment of another subscription or caller is not a charge of this subscription.
  const isOfSubscription = payment.subscription_id === subscription.id;
  if (!isOfSubscription || payment.paid_at === null) return subscription;
  return await applyCharge(service, subscription, payment, notificationId);
}
