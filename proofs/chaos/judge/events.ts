/** Compares the events and the webhooks of a run with its payments. */

import type { Call, Difference, FinalPayment, History, ListedEvent, Order } from "../history.ts";
import { PAID } from "./books.ts";
import { isRetriedCapture } from "./order_of_calls.ts";

/** The event that a payment in this state had last. */
const LAST_EVENT: Record<string, string> = {
  pending: "payment_received",
  authorize: "payment_received",
  capture: "payment_settled",
  settlement: "payment_settled",
  partial_refund: "payment_refunded",
  refund: "payment_refunded",
  deny: "payment_denied",
  cancel: "payment_cancelled",
  expire: "payment_expired",
  failure: "payment_failed",
};

/** The statuses that an event with this name can have. */
const STATUSES: Record<string, readonly string[]> = {
  payment_received: ["pending", "authorize"],
  // The service can learn of a payment together with its refund.
  payment_settled: PAID,
  payment_refunded: ["partial_refund", "refund"],
  payment_denied: ["deny"],
  payment_cancelled: ["cancel"],
  payment_expired: ["expire"],
  payment_failed: ["failure"],
};

/**
 * The events that can follow an event; `null`: that can be the first. The service can learn of the
 * charge only when it is paid or has ended. A captured card can still be cancelled.
 */
const NEXT = new Map<string | null, readonly string[]>([
  [null, [
    "payment_received",
    "payment_settled",
    "payment_denied",
    "payment_cancelled",
    "payment_expired",
    "payment_failed",
  ]],
  ["payment_received", [
    "payment_settled",
    "payment_denied",
    "payment_cancelled",
    "payment_expired",
  ]],
  ["payment_settled", ["payment_refunded", "payment_cancelled"]],
  ["payment_refunded", ["payment_refunded"]],
]);

/** A payment with all that is known of its order; a payment that was not requested has no order. */
interface PaymentRecords {
  payment: FinalPayment;
  events: ListedEvent[];
  order: Order | undefined;
  calls: Call[];
}

type Rule = (records: PaymentRecords) => string | null;

const RULES: Record<string, Rule> = {
  "events of a payment are numbered in order": ({ events }) => {
    const numbers = events.map(({ sequence }) => sequence);
    return numbers.every((number, index) => number === index + 1) ? null : numbers.join(", ");
  },

  "events follow each other as they can happen": ({ events }) => {
    const names = events.map(({ name }) => name);
    const isPossible = names.every((name, index) =>
      NEXT.get(names[index - 1] ?? null)?.includes(name) ?? false
    );
    return isPossible ? null : names.join(", ");
  },

  "an event has a state that fits its name": ({ events }) => {
    const wrong = events.find(({ name, status }) => !STATUSES[name]?.includes(status));
    return wrong ? `${wrong.name} ${wrong.status}` : null;
  },

  "a payment that was shown as open has a payment_received event": (records) => {
    const isOpen = statesOf(records).some(({ status, transactionId }) =>
      (status === "pending" || status === "authorize") && transactionId !== null
    );
    const isReceived = records.events.some(({ name }) => name === "payment_received");
    return isOpen && !isReceived ? `it has ${namesOf(records)}` : null;
  },

  "a payment has one payment_settled event if it was paid, otherwise none": (records) => {
    const settled = records.events.filter(({ name }) => name === "payment_settled").length;
    const isPaid = statesOf(records).some(({ status }) => PAID.includes(status));
    const isPossible = settled === 1 ? isPaid || wasCaptured(records) : settled === 0 && !isPaid;
    return isPossible ? null : `it ${isPaid ? "was" : "was not"} paid and has ${settled}`;
  },

  // One report of the gateway can contain several refunds, and then causes one event.
  "the refunds of a payment have their payment_refunded events": (records) => {
    const refunded = records.events.filter(({ name }) => name === "payment_refunded").length;
    const amounts = statesOf(records).map(({ refundedAmount }) => refundedAmount);
    const least = new Set(amounts.filter((amount) => amount > 0)).size;
    const made = records.payment.refunds.filter(({ status }) => status === "succeeded").length;
    return least <= refunded && refunded <= made
      ? null
      : `${refunded} for ${made} refunds, after which ${least} sums were shown`;
  },

  "the last event says what happened last": ({ payment, events }) => {
    const { status, transactionId } = payment;
    const isUnanswered = status === "pending" && transactionId === null;
    const expected = isUnanswered ? undefined : LAST_EVENT[status];
    const last = events.at(-1)?.name;
    return last === expected ? null : `${status}, but ${last ?? "no event"}`;
  },

  "the last event has the payment's state": ({ payment: { status }, events }) => {
    const last = events.at(-1);
    // A captured card becomes settled without an event.
    const isSettledLater = status === "settlement" && last?.status === "capture";
    return last && last.status !== status && !isSettledLater
      ? `${status}, but ${last.status}`
      : null;
  },
};

/** All states of the payment that the merchant has seen. */
function statesOf({ payment, calls }: PaymentRecords) {
  const answers = calls.flatMap((call) => call.answers);
  const seen = answers.flatMap((answer) =>
    answer.payment && answer.payment.id === payment.id ? [answer.payment] : []
  );
  return [...seen, payment];
}

/** Whether a card may have been paid before it was cancelled, though no answer shows it as paid. */
function wasCaptured({ payment, order, calls }: PaymentRecords): boolean {
  if (payment.status !== "cancel") return false;
  const isCapturing = calls.some((call) =>
    isRetriedCapture(call) || (call.name === "capture" && call.outcome !== "refused")
  );
  return order?.method === "paid_at_once" || (order?.method === "held" && isCapturing);
}

function namesOf({ events }: PaymentRecords): string {
  return events.map(({ name }) => name).join(", ") || "no event";
}

export function checkEvents(history: History): Difference[] {
  const { payments, events, deliveries } = history;
  const byPayment = Map.groupBy(events, ({ paymentId }) => paymentId);
  const orders = new Map(history.orders.map((order) => [order.orderId, order]));
  const calls = Map.groupBy(history.calls, ({ orderId }) => orderId);
  const known = new Set(payments.map(({ id }) => id));
  return [
    ...payments.flatMap((payment) =>
      checkEventsOf({
        payment,
        events: byPayment.get(payment.id) ?? [],
        order: orders.get(payment.orderId),
        calls: calls.get(payment.orderId) ?? [],
      })
    ),
    ...findDuplicates(events.map(({ id }) => id)).map((id) =>
      difference("an event is listed once", id)
    ),
    ...events.filter(({ paymentId }) => !known.has(paymentId))
      .map(({ id }) => difference("an event is about a payment of the run", id)),
    ...deliveriesOf({ events, deliveries }),
  ];
}

function checkEventsOf(records: PaymentRecords): Difference[] {
  const { orderId } = records.payment;
  return Object.entries(RULES).flatMap(([rule, check]) => {
    const text = check(records);
    return text === null ? [] : [{ rule, orderId, text }];
  });
}

function deliveriesOf(
  { events, deliveries }: Pick<History, "events" | "deliveries">,
): Difference[] {
  const delivered = new Set(deliveries.map(({ eventId }) => eventId));
  const byId = new Map(events.map((event) => [event.id, event]));
  return [
    ...events.filter(({ id }) => !delivered.has(id))
      .map(({ id, name }) => difference("each event is delivered", `${id} ${name}`)),
    ...deliveries.filter(({ eventId, ...delivery }) => {
      const event = byId.get(eventId);
      return event?.name !== delivery.name || event.status !== delivery.status ||
        event.paymentId !== delivery.paymentId || event.sequence !== delivery.sequence;
    }).map(({ eventId }) => difference("each webhook is an event of the list", eventId)),
  ];
}

function difference(rule: string, text: string): Difference {
  return { rule, orderId: null, text };
}

function findDuplicates(ids: string[]): string[] {
  return [...Map.groupBy(ids, (id) => id)].filter(([, all]) => all.length > 1).map(([id]) => id);
}
