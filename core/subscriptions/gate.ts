/**
 * The gate of subscriptions: whatever the gateway says about one, or did to it, passes here. No other
 * code changes the state of a subscription.
 */

import { codeOf, UNIQUE_VIOLATION } from "../../db/database.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import type { GatewaySubscription } from "../../db/subscriptions.ts";
import type { Subscription } from "../gateway/responses.ts";
import { parseSubscriptionTime } from "../gateway/times.ts";
import { parseMoney } from "../money.ts";
import { changeRecord } from "../records/change.ts";
import type { RecordDeps } from "../records/deps.ts";
import type { Change } from "../records/kind.ts";
import type { Seen } from "../records/look.ts";
import { checkJob } from "./check_job.ts";
import { subscriptionKind } from "./kind.ts";
import * as states from "./states.ts";

/** Who heard it; kept in the subscription's story. */
export type Source =
  | "create"
  | states.SubscriptionAction
  | "update"
  | "get_subscription_status"
  | "check_subscription_status"
  | "notification";

type Key = Change<GatewaySubscription>["key"];

export interface Hearing {
  /** It is about this subscription. */
  answer: Subscription;
  source: Source;
  /** The version of the subscription that was known when the gateway was asked. */
  askedAt: number;
  key?: Key;
}

/** Takes over what the gateway says about a subscription, as far as it is news. */
export async function hear(
  deps: RecordDeps,
  known: GatewaySubscription,
  { answer, source, askedAt, key }: Hearing,
): Promise<Seen<GatewaySubscription>> {
  let isOvertaken = false;
  const record = await changeRecord(deps, subscriptionKind, known, (current) => {
    // What waits for its first answer can have had no newer one.
    const isFirst = current.gateway_subscription_id === null;
    isOvertaken = !isFirst && current.version !== askedAt;
    if (isOvertaken) return key ? { key } : null;
    const now = new Date(deps.clock());
    const said = answer.status as "active" | "inactive";
    // What we asked for and was not answered yet comes first.
    const to = current.intent === null ? states.heardAs(current.status, said) : current.status;
    // Cancelled is for good: should it have been brought back, it is cancelled once more.
    const isBack = current.status === "cancelled" && said === "active" && current.intent === null;
    const change = moved(current, to, { source, now });
    return {
      ...change,
      set: {
        ...fieldsOf(current, answer),
        ...change?.set,
        ...isBack && { intent: "cancel" as const },
        check_at: checkTime({ ...current, ...change?.set, status: to }, now),
      },
      jobs: isBack ? [checkJob(current, now)] : [],
      key,
    };
  });
  return { record, isOvertaken };
}

/** The gateway did what it was asked. */
export async function hearDone(
  deps: RecordDeps,
  known: GatewaySubscription,
  action: states.SubscriptionAction,
  key: Key = null,
): Promise<GatewaySubscription> {
  return await changeRecord(deps, subscriptionKind, known, (current) => {
    const now = new Date(deps.clock());
    const wanted = states.stateAfter(action);
    // By this very call, though a look was quicker to see that it is over.
    const isOurEnd = action !== "enable" && current.status === "inactive";
    // Another who asked for it may have been answered first, and it may have been undone since.
    const isMeant = isOurEnd ||
      (current.intent === action && states.allows(current.status, action));
    const to = isMeant ? wanted : current.status;
    // It may have come there after what undid it: then that is asked for once more.
    const again = to === wanted ? null : states.actionTo(to);
    const change = moved(current, to, { source: action, now });
    const set = {
      ...change?.set,
      intent: current.intent === action ? again : current.intent ?? again,
      check_at: checkTime({ ...current, ...change?.set, status: to }, now),
    };
    return { ...change, set, key, jobs: to === wanted ? [] : [checkJob(current, now)] };
  });
}

/** The gateway refused it outright: there is no such subscription, and never will be. */
export async function hearRefusal(
  deps: RecordDeps,
  known: GatewaySubscription,
  key: Key,
): Promise<GatewaySubscription> {
  return await changeRecord(deps, subscriptionKind, known, (current) => {
    // An answer may have come after all, by another way.
    if (current.status !== "pending") return key ? { key } : null;
    const now = new Date(deps.clock());
    const change = moved(current, "failed", { source: "create", now });
    return { ...change, set: { ...change?.set, check_at: null }, key };
  });
}

/** One cycle was paid, by this payment. Told once, whoever finds out, and however often. */
export async function hearCharged(
  deps: RecordDeps,
  known: GatewaySubscription,
  { id, transaction_id }: GatewayPayment,
  notificationId: string | null,
): Promise<GatewaySubscription> {
  try {
    return await changeRecord(deps, subscriptionKind, known, (current) => ({
      charges: [{
        transaction_id: transaction_id!,
        subscription_id: current.id,
        payment_id: id,
        created_at: new Date(deps.clock()),
      }],
      transition: {
        to: { status: current.status, fraud: null },
        events: ["subscription_charged"],
        source: "check_subscription_status",
      },
      told: { notification_id: notificationId, payment_id: id },
    }));
  } catch (error) {
    // Somebody else was quicker to tell.
    if (codeOf(error) === UNIQUE_VIOLATION) return known;
    throw error;
  }
}

/** Null: it is there already. */
function moved(
  current: GatewaySubscription,
  to: states.SubscriptionStatus,
  { source, now }: { source: Source; now: Date },
): Change<GatewaySubscription> | null {
  if (to === current.status) return null;
  const isEnded = to === "disabled" || to === "cancelled";
  return {
    set: { ended_at: isEnded ? now : null },
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
    interval: count(schedule?.interval) ?? current.interval,
    current_interval: count(answer.current_interval) ?? count(schedule?.current_interval) ??
      current.current_interval,
    start_time: parseSubscriptionTime(schedule?.start_time ?? null) ?? current.start_time,
    // Null is an answer: there is no next one.
    next_execution_at: schedule
      ? parseSubscriptionTime(schedule.next_execution_at)
      : current.next_execution_at,
  };
}

/** What the gateway takes itself. */
const MAX_NAME = 40;

/** An odd number must not keep the rest of an answer from being taken. */
function count(said: number | null | undefined): number | null {
  return said !== null && said !== undefined && said >= 0 && said < 2 ** 31 ? said : null;
}

const HALF_AN_HOUR_MS = 30 * 60_000;

/** Retries of one that was ended may still run (G§7). */
export const AFTERWARDS_MS = 7 * 24 * 3_600_000;

/** Null: there is nothing more to be learned of it. */
function checkTime({ status, ended_at }: GatewaySubscription, now: Date): Date | null {
  const isOver = status === "failed" ||
    (ended_at !== null && now.getTime() > ended_at.getTime() + AFTERWARDS_MS);
  return isOver ? null : new Date(now.getTime() + HALF_AN_HOUR_MS);
}
