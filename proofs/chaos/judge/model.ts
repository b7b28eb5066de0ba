/**
 * A payment as an object with few states, and the changes that calls and customers make to it. It
 * repeats nothing of the service's own state table: it is what a merchant expects of a payment.
 */

import type { Call, Method, PaymentState } from "../history.ts";

export interface ModelState {
  status: "none" | "pending" | "held" | "paid" | "denied" | "cancelled" | "failed" | "expired";
  captured: number;
  refunded: number;
}

export const NOT_CHARGED: ModelState = { status: "none", captured: 0, refunded: 0 };

/** The next state; null: the change is not possible in this state. */
export type Change = (state: ModelState) => ModelState | null;

export function store(): Change {
  return (state) => state.status === "none" ? { ...state, status: "pending" } : null;
}

/** What the gateway's answer to the charge says. */
export function answerCharge(method: Method, amount: number): Change {
  return (state) => {
    if (state.status !== "pending") return null;
    switch (method) {
      case "paid_later":
        return state;
      case "paid_at_once":
        return { ...state, status: "paid", captured: amount };
      case "held":
        return { ...state, status: "held" };
      case "denied":
        return { ...state, status: "denied" };
    }
  };
}

/** The gateway refused the charge, or did not get it. */
export function fail(): Change {
  return (state) => state.status === "pending" ? { ...state, status: "failed" } : null;
}

export function expire(): Change {
  return (state) => state.status === "pending" ? { ...state, status: "expired" } : null;
}

export function pay(amount: number): Change {
  return (state) =>
    state.status === "pending" ? { ...state, status: "paid", captured: amount } : null;
}

export function deny(): Change {
  return (state) => state.status === "pending" ? { ...state, status: "denied" } : null;
}

export function capture(amount: number): Change {
  return (state) => state.status === "held" ? { ...state, status: "paid", captured: amount } : null;
}

export function refund(amount: number): Change {
  return (state) => {
    const refunded = state.refunded + amount;
    return state.status === "paid" && refunded <= state.captured ? { ...state, refunded } : null;
  };
}

/**
 * A refund for which the caller named no amount: it refunds what is left. `reserved`: what other
 * refunds of the same time can have reserved.
 */
export function refundRest(amount: number, reserved: number): Change {
  return (state) => {
    const left = state.captured - state.refunded;
    return amount >= left - reserved ? refund(amount)(state) : null;
  };
}

/** A captured card can be cancelled until it is settled; no card of a run is settled. */
export function cancel(method: Method): Change {
  return (state) =>
    canCancel(state, method) ? { ...state, status: "cancelled", captured: 0 } : null;
}

function canCancel({ status }: ModelState, method: Method): boolean {
  return status === "pending" || status === "held" || (status === "paid" && isCard(method));
}

function isCard(method: Method): boolean {
  return method !== "paid_later";
}

/** What the service's statuses mean to a merchant. */
const STATUSES: Record<string, ModelState["status"]> = {
  pending: "pending",
  authorize: "held",
  capture: "paid",
  settlement: "paid",
  partial_refund: "paid",
  refund: "paid",
  deny: "denied",
  cancel: "cancelled",
  failure: "failed",
  expire: "expired",
};

/** Leaves the state as it is; possible only in the state that the answer shows. */
export function show(payment: PaymentState): Change {
  const captured = payment.capturedAmount ?? 0;
  return (state) =>
    state.status === STATUSES[payment.status] && state.captured === captured &&
      state.refunded === payment.refundedAmount
      ? state
      : null;
}

/**
 * A capture was refused after attempts without an answer. One of them may have captured the amount,
 * but only if the payment was cancelled since: otherwise the service finds that it is captured.
 */
export function refuseRetriedCapture(): Change {
  return (state) => state.status === "held" || state.status === "paid" ? null : state;
}

/**
 * The call was refused as not allowed in the payment's state; possible only in a state that does
 * not allow it. `reserved`: what other refunds of the same time can have reserved.
 */
export function refuse({ name, amount }: Call, method: Method, reserved: number): Change {
  return (state) => {
    const left = state.captured - state.refunded - reserved;
    const isAllowed = name === "capture"
      ? state.status === "held"
      : name === "cancel"
      ? canCancel(state, method)
      : state.status === "paid" && left > 0 && (amount ?? 1) <= left;
    return isAllowed ? null : state;
  };
}
