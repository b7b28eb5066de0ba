/**
 * Applies the gateway's reports to subscriptions. No other code changes the state of a
 * subscription.
 */

import { codeOf, UNIQUE_VIOLATION } from "../../db/connection/database.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import type { GatewaySubscription } from "../../db/billing/subscriptions.ts";
import type { Subscription } from "../gateway/responses.ts";
import { parseSubscriptionTime } from "../gateway/times.ts";
import { parseMoney } from "../money.ts";
import { changeRecord } from "../records/change.ts";
import type { Change, KeyChange } from "../records/record.ts";
import type { Service } from "../service.ts";
import * as states from "./states.ts";
import { checkSubscriptionJob, subscriptionKind } from "./subscription_record.ts";

/** What caused the report; stored in the subscription's history. */
export type Source =
  | "create"
  | states.SubscriptionAction
  | "update"
  | "get_subscription_status"
  | "check_subscription_status"
  | "notification";

export interface SubscriptionReport {
  /** Already checked with `matchesSubscription`, `answersCreation` or `isOurs`. */
  answer: Subscription;
  source: Source;
  /** The version of the subscription that was known when the gateway was asked. */
  askedAtVersion: number;
  key?: KeyChange<GatewaySubscription> | null;
}

export interface AppliedSubscriptionReport {
  subscription: GatewaySubscription;
  /** The subscription changed during the request, so the report may be outdated and was ignored. */
  isReportStale: boolean;
}

/** Applies the report, unless it is stale. Sets the next check even if nothing else is new. */
export async function applyReport(
  service: Service,
  known: GatewaySubscription,
  { answer, source, askedAtVersion, key }: SubscriptionReport,
): Promise<AppliedSubscriptionReport> {
  let isReportStale = false;
  const subscription = await changeRecord(service, subscriptionKind, known, (current) => {
    // The first response cannot be outdated.
    const isFirst = current.gateway_subscription_id === null;
    isReportStale = !isFirst && current.version !== askedAtVersion;
    if (isReportStale) return key ? { key } : null;
    const now = new Date(service.clock());
    const reported = answer.status as "active" | "inactive";
    const { status, intent } = current;
    // An action that the gateway has not answered yet takes precedence over the report.
    const to = intent === null ? states.statusAfterReport(status, reported) : status;
    // A cancelled subscription stays cancelled: if the gateway reports it as active, cancel it
    // again.
    const isReactivated = status === "cancelled" && reported === "active" && intent === null;
    const change = changeStatus(current, to, source, now);
    const next = { ...change?.set, intent: isReactivated ? "cancel" as const : intent };
    return {
      ...change,
      set: {
        ...fieldsOf(current, answer),
        ...next,
        check_at: checkTime({ ...current, ...next, status: to }, now),
      },
      jobs: isReactivated ? [checkSubscriptionJob(current, now)] : [],
      key,
    };
  });
  return { subscription, isReportStale };
}

/** The gateway did the requested action. */
export async function applyAction(
  service: Service,
  known: GatewaySubscription,
  action: states.SubscriptionAction,
  key: KeyChange<GatewaySubscription> | null = null,
): Promise<GatewaySubscription> {
  return await changeRecord(service, subscriptionKind, known, (current) => {
    const now = new Date(service.clock());
    const target = states.stateAfter(action);
    // A check may have found the subscription inactive before this response arrived.
    const isInactiveByAction = action !== "enable" && current.status === "inactive";
    // A concurrent request may have done the same action first, and a later action may have undone
    // it.
    const isStillWanted = isInactiveByAction ||
      (current.intent === action && states.allows(current.status, action));
    const to = isStillWanted ? target : current.status;
    // The gateway may have executed the later action before this one: repeat the action that led
    // to the current state.
    const repeat = to === target ? null : states.actionTo(to);
    const change = changeStatus(current, to, action, now);
    const intent = current.intent === action ? repeat : current.intent ?? repeat;
    const next = { ...change?.set, intent };
    const set = { ...next, check_at: checkTime({ ...current, ...next, status: to }, now) };
    const jobs = to === target ? [] : [checkSubscriptionJob(current, now)];
    return { ...change, set, key, jobs };
  });
}

/** The gateway refused the creation: there is no such subscription, and there never will be one. */
export async function applyRefusal(
  service: Service,
  known: GatewaySubscription,
  key: KeyChange<GatewaySubscription> | null,
): Promise<GatewaySubscription> {
  return await changeRecord(service, subscriptionKind, known, (current) => {
    // Another report has shown that the subscription was created after all.
    if (current.status !== "pending") return key ? { key } : null;
    const now = new Date(service.clock());
    const change = changeStatus(current, "failed", "create", now);
    return { ...change, set: { ...change?.set, check_at: null }, key };
  });
}

/** One cycle was paid by this payment. Only the first report of a charge writes an event. */
export async function applyCharge(
  service: Service,
  known: GatewaySubscription,
  { id, transaction_id }: GatewayPayment,
  notificationId: string | null,
): Promise<GatewaySubscription> {
  try {
    return await changeRecord(service, subscriptionKind, known, (current) => ({
      charges: [{
        transaction_id: transaction_id!,
        subscription_id: current.id,
        payment_id: id,
        created_at: new Date(service.clock()),
      }],
      transition: {
        to: { status: current.status, fraud: null },
        events: ["subscription_charged"],
        source: "check_subscription_status",
      },
      eventData: { notification_id: notificationId, payment_id: id },
    }));
  } catch (error) {
    // Another check recorded the charge first.
    if (codeOf(error) === UNIQUE_VIOLATION) return known;
    throw error;
  }
}

/** Null: the subscription already has this status. */
function changeStatus(
  current: GatewaySubscription,
  to: states.SubscriptionStatus,
  source: Source,
  now: Date,
): Change<GatewaySubscription> | null {
  if (to === current.status) return null;
  return {
    set: { ended_at: states.isStopped(to) ? now : null },
    transition: {
      to: { status: to, fraud: null },
      events: states.eventsOf(current.status, to),
      source,
    },
  };
}

function fieldsOf(current: GatewaySubscription, answer: Subscription) {
  const { schedule } = answer;
  return {
    gateway_subscription_id: answer.id ?? current.gateway_subscription_id,
    name: answer.name && answer.name.length <= MAX_NAME ? answer.name : current.name,
    amount: parseMoney(answer.amount) || current.amount,
    interval: validCount(schedule?.interval) ?? current.interval,
    current_interval: validCount(answer.current_interval) ??
      validCount(schedule?.current_interval) ?? current.current_interval,
    start_time: parseSubscriptionTime(schedule?.start_time ?? null) ?? current.start_time,
    // Null is a value here: no further charge is planned.
    next_execution_at: schedule
      ? parseSubscriptionTime(schedule.next_execution_at)
      : current.next_execution_at,
  };
}

/** The gateway's limit for the length of a name. */
const MAX_NAME = 40;

/** An invalid number must not make the rest of the response fail. */
function validCount(number: number | null | undefined): number | null {
  return number !== null && number !== undefined && number >= 0 && number < 2 ** 31 ? number : null;
}

const CHECK_INTERVAL_MS = 30 * 60_000;

/** How long to check after `disable` and `cancel`: after `disable`, scheduled retries still run. */
export const CHECKED_AFTER_STOP_MS = 7 * 24 * 3_600_000;

/** Null: no check is needed, because the gateway does not change the subscription any more. */
function checkTime({ status, intent, ended_at }: GatewaySubscription, now: Date): Date | null {
  // An action that the gateway has not answered is repeated by the checks.
  const isOver = intent === null && (status === "failed" ||
    (ended_at !== null && now.getTime() > ended_at.getTime() + CHECKED_AFTER_STOP_MS));
  return isOver ? null : new Date(now.getTime() + CHECK_INTERVAL_MS);
}

/** Whether a response is about this subscription, with a status that the service knows. */
export function matchesSubscription(
  { gateway_subscription_id }: GatewaySubscription,
  answer: Subscription,
): boolean {
  return answer.id !== null && answer.id === gateway_subscription_id && hasKnownStatus(answer);
}

/** Whether the response to a creation matches the request. */
export function answersCreation(subscription: GatewaySubscription, answer: Subscription): boolean {
  return answer.id !== null && hasKnownStatus(answer) &&
    (answer.name ?? subscription.name) === subscription.name &&
    (answer.payment_type ?? subscription.payment_type) === subscription.payment_type &&
    (answer.amount === null || parseMoney(answer.amount) === subscription.amount);
}

/**
 * Whether the gateway created the reported subscription for this record. Only this service can have
 * put the record's id into the metadata.
 */
export function isOurs(subscription: GatewaySubscription, answer: Subscription): boolean {
  return answer.metadata?.subscription_ref === subscription.id &&
    answersCreation(subscription, answer);
}

function hasKnownStatus({ status }: Subscription): boolean {
  return status === "active" || status === "inactive";
}
