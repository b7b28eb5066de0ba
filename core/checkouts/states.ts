/** The states of a checkout, which state can follow which, and how its payments decide it. */

import type {
  CheckoutAttempt,
  CheckoutStatus,
  GatewayCheckout,
} from "../../db/billing/checkouts.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import type { CheckoutEventName } from "../events/names.ts";
import { isPending } from "../payments/states.ts";

export { CHECKOUT_STATUSES } from "../../db/billing/checkouts.ts";
export type { CheckoutStatus } from "../../db/billing/checkouts.ts";

const NEXT: Record<CheckoutStatus, readonly CheckoutStatus[]> = {
  open: ["processing", "paid", "expired", "cancelled"],
  // The bank can decline an authorized payment, or staff a reviewed one.
  processing: ["open", "paid", "expired", "cancelled"],
  // A customer can pay in the moment in which the checkout ends.
  expired: ["paid"],
  cancelled: ["paid"],
  paid: [],
};

export function canBecome(from: CheckoutStatus, to: CheckoutStatus): boolean {
  return NEXT[from].includes(to);
}

export function eventsOf(to: CheckoutStatus): CheckoutEventName[] {
  if (to === "paid") return ["checkout_completed"];
  if (to === "expired") return ["checkout_expired"];
  return to === "cancelled" ? ["checkout_cancelled"] : [];
}

/** Whether the customer can still choose or pay. */
export function isRunning({ status }: Pick<GatewayCheckout, "status">): boolean {
  return status === "open" || status === "processing";
}

/** The attempt that may be payable; at most one. */
export function openAttempt({ attempts }: GatewayCheckout): CheckoutAttempt | null {
  return attempts.find(({ closed_at }) => closed_at === null) ?? null;
}

export function paymentsOf(
  { order_id }: CheckoutAttempt,
  payments: readonly GatewayPayment[],
): GatewayPayment[] {
  return payments.filter((payment) => payment.order_id === order_id);
}

/** An attempt by card is paid on the gateway's own page, where several cards can be tried. */
export function isCardAttempt({ method }: CheckoutAttempt): boolean {
  return method === "credit_card";
}

/** After this many denied cards, the checkout does not offer cards any more. */
const MAX_DENIALS = 3;

export function isDeniedCard({ payment_type, transaction_status }: GatewayPayment): boolean {
  return payment_type === "credit_card" && transaction_status === "deny";
}

/** Whether the gateway has the money, or had it and gave it back. */
export function wasPaid({ paid_at }: GatewayPayment): boolean {
  return paid_at !== null;
}

/** Authorized or under review: the customer has acted, and the bank or staff decide. */
export function isInProcess({ transaction_status, fraud_status, paid_at }: GatewayPayment) {
  const state = { status: transaction_status, fraud: fraud_status };
  return paid_at === null && transaction_status !== "pending" && isPending(state);
}

/** Whether the payment can become paid without another charge. */
export function isPayable(payment: GatewayPayment): boolean {
  const state = { status: payment.transaction_status, fraud: payment.fraud_status };
  return !wasPaid(payment) && isPending(state);
}

export interface Outcome {
  status: CheckoutStatus;
  /** The payment that was paid first. */
  paid: GatewayPayment | null;
  /** Another payment that was paid as well. */
  extra: GatewayPayment | null;
  /** The attempts that have ended since they were read. */
  ended: CheckoutAttempt[];
  /** Whether an attempt may be payable. */
  isOpen: boolean;
  /** Whether too many cards were denied to offer cards again. */
  areCardsRefused: boolean;
}

/** What the payments say about the checkout. */
export function outcomeOf(
  checkout: GatewayCheckout,
  payments: readonly GatewayPayment[],
  now: Date,
): Outcome {
  const paid = payments.filter(wasPaid)
    .sort((a, b) => a.paid_at!.getTime() - b.paid_at!.getTime() || (a.id < b.id ? -1 : 1));
  const first = paid.find(({ id }) => id === checkout.payment_id) ?? paid[0] ?? null;
  const extra = paid.find(({ id }) => id !== first!.id) ?? null;
  const ended = checkout.attempts.flatMap((attempt) => endOf(attempt, payments, now) ?? []);
  const isOpen = checkout.attempts.some(({ id, closed_at }) =>
    closed_at === null && !ended.some((each) => each.id === id)
  );
  const areCardsRefused = payments.filter(isDeniedCard).length >= MAX_DENIALS;
  return { status: statusOf(), paid: first, extra, ended, isOpen, areCardsRefused };

  function statusOf(): CheckoutStatus {
    if (first) return "paid";
    if (!isRunning(checkout)) return checkout.status;
    if (payments.some(isInProcess)) return "processing";
    return !isOpen && checkout.expires_at <= now ? "expired" : "open";
  }
}

/** The attempt as it ended; null: it has not, or it had ended before. */
function endOf(
  attempt: CheckoutAttempt,
  all: readonly GatewayPayment[],
  now: Date,
): CheckoutAttempt | null {
  const payments = paymentsOf(attempt, all);
  if (attempt.closed_at !== null || payments.length === 0) return null;
  if (payments.some(wasPaid)) return { ...attempt, closed_at: now, result: "paid" };
  if (payments.some(isPayable)) return null;
  // The customer can try another card until the page ends.
  if (isCardAttempt(attempt)) return null;
  return { ...attempt, closed_at: now, result: payments.at(-1)!.transaction_status };
}
