/** The states of a payment, the steps between them, and the events of each step. No I/O. */

import { PAYMENT_STATUSES, type PaymentStatus } from "../../db/payments/payments.ts";
import type { PaymentEventName } from "../events/names.ts";

export { PAYMENT_STATUSES, type PaymentStatus };

/** `fraud` is part of the state, because a captured payment is not paid while it is challenged. */
export interface State {
  status: PaymentStatus;
  fraud: string | null;
}

/** The next states of each state. `capture` to `capture` is a challenge that was accepted. */
export const FORWARD: Record<PaymentStatus, readonly PaymentStatus[]> = {
  pending: ["authorize", "capture", "settlement", "deny", "cancel", "expire", "failure"],
  authorize: ["capture", "settlement", "deny", "cancel", "expire"],
  capture: ["capture", "settlement", "deny", "cancel"],
  settlement: ["refund", "partial_refund", "chargeback", "partial_chargeback", "deny"],
  partial_refund: ["partial_refund", "refund", "chargeback", "partial_chargeback"],
  partial_chargeback: ["chargeback"],
  deny: [],
  cancel: [],
  expire: [],
  failure: [],
  refund: [],
  chargeback: [],
};

/** If the customer paid at the last moment, the gateway can still report these payments as paid. */
const REVIVABLE = new Set<PaymentStatus>(["expire", "cancel", "deny", "failure"]);

const PAID = new Set<PaymentStatus>(["settlement", "partial_refund", "partial_chargeback"]);

/** Only reached from a paid state. */
const AFTER_PAID = new Set<PaymentStatus>([
  "refund",
  "partial_refund",
  "chargeback",
  "partial_chargeback",
]);

export const PAYMENT_ACTIONS = [
  "cancel",
  "expire",
  "capture",
  "refund",
  "approve",
  "deny",
] as const;

export type PaymentAction = (typeof PAYMENT_ACTIONS)[number];

/** The states in which each action is allowed; `allowsAction` has further conditions. */
const ALLOWED_IN: Record<PaymentAction, readonly PaymentStatus[]> = {
  cancel: ["pending", "authorize", "capture"],
  expire: ["pending"],
  capture: ["authorize"],
  // A capture that is not settled yet is cancelled instead.
  refund: ["settlement", "partial_refund"],
  approve: ["authorize", "capture"],
  deny: ["authorize", "capture"],
};

export const REFUNDABLE = ALLOWED_IN.refund;

/** Whether the state of a payment of this type allows an action. */
export function allowsAction(
  { status, fraud }: State,
  paymentType: string,
  action: PaymentAction,
): boolean {
  if (!ALLOWED_IN[action].includes(status)) return false;
  if (action === "capture") return paymentType === "credit_card";
  return isReview(action) ? fraud === "challenge" : true;
}

/** Reviews decide about a payment that fraud detection has challenged. Only staff make them. */
export function isReview(action: PaymentAction): boolean {
  return action === "approve" || action === "deny";
}

export function isPaid({ status, fraud }: State): boolean {
  return status === "capture" ? fraud === null || fraud === "accept" : PAID.has(status);
}

export function isPending({ status, fraud }: State): boolean {
  return status === "pending" || status === "authorize" ||
    (status === "capture" && fraud === "challenge");
}

export function isFailed({ status }: State): boolean {
  return status === "deny" || status === "failure" || status === "cancel";
}

export function isExpired({ status }: State): boolean {
  return status === "expire";
}

export function canCancel(status: PaymentStatus): boolean {
  return ALLOWED_IN.cancel.includes(status);
}

/** Whether the payment is paid, or was paid before it reached this state. */
export function impliesPaid(state: State): boolean {
  return isPaid(state) || AFTER_PAID.has(state.status);
}

export function isStatus(text: string | null): text is PaymentStatus {
  return PAYMENT_STATUSES.some((status) => status === text);
}

/** Whether the gateway may report this payment as settled later, or has done so already. */
export function canBecomeSettled(status: PaymentStatus): boolean {
  return REACHABLE[status].has("settlement") || REVIVABLE.has(status);
}

/** Whether a payment in one state can be in the other one later, or stays in it. */
export function canFollow(from: PaymentStatus, to: PaymentStatus): boolean {
  return from === to || REACHABLE[from].has(to) || REVIVABLE.has(from);
}

/** All states that can follow a state, in one step or in several. */
const REACHABLE = Object.fromEntries(
  PAYMENT_STATUSES.map((from) => [from, reachableFrom(from)]),
) as Record<PaymentStatus, Set<PaymentStatus>>;

function reachableFrom(from: PaymentStatus): Set<PaymentStatus> {
  const found = new Set<PaymentStatus>();
  const toVisit = [...FORWARD[from]];
  for (let status = toVisit.pop(); status; status = toVisit.pop()) {
    if (found.has(status)) continue;
    found.add(status);
    toVisit.push(...FORWARD[status]);
  }
  return found;
}

/** The stored members of a payment that a step depends on. */
export interface KnownState extends State {
  /** The sum of all refunds. */
  refunded: number;
  /** The amount of a partial chargeback; null or missing: not known. */
  chargedBack?: number | null;
  /** False until the gateway has answered the charge. */
  isAnswered: boolean;
  /** The gateway refused the charge, so there is no transaction that could be revived. */
  isRefused: boolean;
}

/** What the gateway reports. */
export interface ReportedState extends State {
  /** Null: the report does not mention refunds. */
  refunded: number | null;
  /** The amount of a partial chargeback; null or missing: the report does not state it. */
  chargedBack?: number | null;
  /** The report is the response to a status request that was sent after the last stored change. */
  isLatest: boolean;
}

/**
 * - `forward`: to a later state of the table `FORWARD`; states may be skipped;
 * - `revived`: from an ended, unpaid state to another state, usually a paid one;
 * - `same`: the same state with new information, such as the first response or a refund;
 * - `duplicate`: nothing new;
 * - `stale`: the report may be older than the known state, or does not match the payment;
 * - `unrecognized`: the service does not know the reported status, so the known state is kept.
 */
export type Step = "forward" | "revived" | "same" | "duplicate" | "stale" | "unrecognized";

export function stepTo(from: KnownState, to: ReportedState): Step {
  if (!isStatus(to.status)) return "unrecognized";
  if (from.isRefused) return "stale";
  const refundsGrew = to.refunded !== null && to.refunded > from.refunded;
  if (from.status === to.status) {
    const isAccepted = from.fraud === "challenge" && to.fraud === "accept";
    // An accepted challenge cannot become a challenge again.
    const isCorrected = to.isLatest && to.fraud !== from.fraud && to.fraud !== "challenge";
    const isNew = !from.isAnswered || isAccepted || isCorrected || refundsGrew ||
      hasLargerChargeback(from, to);
    return isNew ? "same" : "duplicate";
  }
  if (REACHABLE[from.status].has(to.status)) {
    // Only the latest report can make a paid payment denied: an earlier denial may arrive late.
    return to.status === "deny" && isPaid(from) && !to.isLatest ? "stale" : "forward";
  }
  if (REVIVABLE.has(from.status)) {
    // The first report of a charge that was given up shows that the charge was made after all.
    return to.isLatest || !from.isAnswered ? "revived" : "stale";
  }
  // A refund is real even if its report arrives late.
  return refundsGrew ? "same" : "stale";
}

/** The state after a step `same`: the status stays, but the fraud status may change. */
export function sameState(from: KnownState, to: ReportedState): State {
  const fraud = from.status === to.status ? to.fraud : from.fraud;
  return { status: from.status, fraud };
}

/** The event that is created when a payment enters a state. */
const ENTRY_EVENTS: Partial<Record<PaymentStatus, PaymentEventName>> = {
  pending: "payment_received",
  authorize: "payment_received",
  deny: "payment_denied",
  cancel: "payment_cancelled",
  expire: "payment_expired",
  failure: "payment_failed",
  chargeback: "payment_refunded",
  partial_chargeback: "payment_refunded",
};

/** The events of a step, in order. `wasPaid`: an earlier event said that the payment is paid. */
export function eventsOf(
  from: KnownState,
  to: ReportedState,
  wasPaid: boolean,
): PaymentEventName[] {
  const events: PaymentEventName[] = [];
  if (!wasPaid && impliesPaid(to)) events.push("payment_settled");
  const isEntered = from.status !== to.status || (to.status === "pending" && !from.isAnswered);
  const refundsGrew = (to.refunded ?? 0) > from.refunded;
  const entryEvent = to.status === "capture" && to.fraud === "challenge"
    ? "payment_received"
    : ENTRY_EVENTS[to.status];
  if (isEntered && entryEvent) events.push(entryEvent);
  const hasGrown = refundsGrew || hasLargerChargeback(from, to);
  if (hasGrown && !events.includes("payment_refunded")) events.push("payment_refunded");
  return events;
}

/** The gateway may report the amount of a partial chargeback later than the chargeback. */
function hasLargerChargeback(from: KnownState, to: ReportedState): boolean {
  return (to.chargedBack ?? 0) > (from.chargedBack ?? 0);
}
