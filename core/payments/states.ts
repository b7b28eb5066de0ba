/** The states of a payment as data, and what follows from them; no I/O, nothing but answers. */

import { PAYMENT_STATUSES, type PaymentStatus } from "../../db/payments.ts";
import type { PaymentEventName } from "../events/names.ts";

export { PAYMENT_STATUSES, type PaymentStatus };

/** What the gateway's fraud detection makes of it decides over a capture, so it is part of the state. */
export interface State {
  status: PaymentStatus;
  fraud: string | null;
}

/** Where a payment can go; `capture` to itself is a challenge that was accepted. */
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

/** The gateway may take these back: the customer paid in the last second. */
const DEAD = new Set<PaymentStatus>(["expire", "cancel", "deny", "failure"]);

const PAID = new Set<PaymentStatus>(["settlement", "partial_refund", "partial_chargeback"]);

/** Reached from a paid state alone. */
const AFTER_PAID = new Set<PaymentStatus>([
  "refund",
  "partial_refund",
  "chargeback",
  "partial_chargeback",
]);

const CANCELLABLE = new Set<PaymentStatus>(["pending", "authorize", "capture"]);

/** What can be refunded; a capture that is not settled yet is cancelled instead. */
export const REFUNDABLE: readonly PaymentStatus[] = ["settlement", "partial_refund"];

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
  return CANCELLABLE.has(status);
}

/** Whether it had been paid when it came into this state, or is now. */
export function impliesPaid(state: State): boolean {
  return isPaid(state) || AFTER_PAID.has(state.status);
}

export function isStatus(text: string | null): text is PaymentStatus {
  return PAYMENT_STATUSES.some((status) => status === text);
}

/** Every state that forward edges lead to, in one step or in several. */
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

/** What is known of a payment, as far as a step depends on it. */
export interface Standing extends State {
  /** Of all refunds that were made. */
  refunded: number;
  /** False until the gateway has answered for the first time. */
  isAnswered: boolean;
  /** The gateway refused the charge: there is nothing that could come back. */
  isRefused: boolean;
}

/** What the gateway says of it. */
export interface Word extends State {
  /** Null where it says nothing of refunds. */
  refunded: number | null;
  /** The answer to a question for just this payment's state, asked after all that is known of it. */
  isLatest: boolean;
}

/**
 * - `forward`: along the table, states jumped over included;
 * - `revived`: back from the dead;
 * - `same`: in the same state, with more to it (its first answer, a challenge accepted, a refund);
 * - `duplicate`: nothing new;
 * - `stale`: it would step back.
 */
export type Step = "forward" | "revived" | "same" | "duplicate" | "stale";

export function stepTo(from: Standing, to: Word): Step {
  if (from.isRefused) return "stale";
  const refundsGrew = to.refunded !== null && to.refunded > from.refunded;
  if (from.status === to.status) {
    const isAccepted = from.fraud === "challenge" && to.fraud === "accept";
    // A challenge that was accepted does not come again.
    const isCorrected = to.isLatest && to.fraud !== from.fraud && to.fraud !== "challenge";
    const isNews = !from.isAnswered || isAccepted || isCorrected || refundsGrew;
    return isNews ? "same" : "duplicate";
  }
  if (REACHABLE[from.status].has(to.status)) {
    // Money that was paid is lost by the latest word alone: an earlier denial may come late.
    return to.status === "deny" && isPaid(from) && !to.isLatest ? "stale" : "forward";
  }
  if (DEAD.has(from.status)) {
    // A charge that was given up is heard of for the first time: it had gone through after all.
    return to.isLatest || !from.isAnswered ? "revived" : "stale";
  }
  // Late as it may be, money that went back went back.
  return refundsGrew ? "same" : "stale";
}

/** Where a payment stands that keeps its status: a challenge may have been accepted. */
export function sameState(from: Standing, to: Word): State {
  const fraud = from.status === to.status ? to.fraud : from.fraud;
  return { status: from.status, fraud };
}

const ENTERED: Partial<Record<PaymentStatus, PaymentEventName>> = {
  pending: "payment_received",
  authorize: "payment_received",
  deny: "payment_denied",
  cancel: "payment_cancelled",
  expire: "payment_expired",
  failure: "payment_failed",
  chargeback: "payment_refunded",
  partial_chargeback: "payment_refunded",
};

/** The events of a step that is taken, in their order. `wasPaid`: it has been told to be paid before. */
export function eventsOf(from: Standing, to: Word, wasPaid: boolean): PaymentEventName[] {
  const events: PaymentEventName[] = [];
  if (!wasPaid && impliesPaid(to)) events.push("payment_settled");
  const isEntered = from.status !== to.status || (to.status === "pending" && !from.isAnswered);
  const refundsGrew = (to.refunded ?? 0) > from.refunded;
  const entered = to.status === "capture" && to.fraud === "challenge"
    ? "payment_received"
    : ENTERED[to.status];
  if (isEntered && entered) events.push(entered);
  if (refundsGrew && !events.includes("payment_refunded")) events.push("payment_refunded");
  return events;
}
