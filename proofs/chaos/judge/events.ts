/** Compares the events and the webhooks of a run with its payments. */

import type { Difference, FinalPayment, History, ListedEvent } from "../history.ts";

/** The event that a payment in this state must have; null: it may have none. */
const LAST_EVENT: Record<string, string> = {
  capture: "payment_settled",
  settlement: "payment_settled",
  partial_refund: "payment_refunded",
  refund: "payment_refunded",
  deny: "payment_denied",
  cancel: "payment_cancelled",
  failure: "payment_failed",
};

const PAID = ["capture", "settlement", "partial_refund", "refund"];

export function checkEvents({ payments, events, deliveries }: History): Difference[] {
  const byPayment = Map.groupBy(events, ({ paymentId }) => paymentId);
  const known = new Set(payments.map(({ id }) => id));
  return [
    ...payments.flatMap((payment) => eventsOf(payment, byPayment.get(payment.id) ?? [])),
    ...findDoubled(events.map(({ id }) => id)).map((id) =>
      difference("an event is listed once", id)
    ),
    ...events.filter(({ paymentId }) => !known.has(paymentId))
      .map(({ id }) => difference("an event is about a payment of the run", id)),
    ...deliveriesOf({ events, deliveries }),
  ];
}

function eventsOf({ id, orderId, status }: FinalPayment, events: ListedEvent[]): Difference[] {
  const found = (rule: string, text: string): Difference => ({ rule, orderId, text });
  const numbers = events.map(({ sequence }) => sequence);
  const settled = events.filter(({ name }) => name === "payment_settled").length;
  const expected = LAST_EVENT[status];
  const isPaid = PAID.includes(status);
  const last = events.at(-1);
  return [
    ...numbers.some((number, index) => number !== index + 1)
      ? [found("events of a payment are numbered in order", numbers.join(", "))]
      : [],
    ...settled > 1 || (isPaid && settled !== 1)
      ? [found("a paid payment has one payment_settled event", `${id} has ${settled}`)]
      : [],
    ...expected && last?.name !== expected
      ? [found("the last event says what happened last", `${status}, but ${last?.name}`)]
      : [],
    // A captured card becomes settled without an event.
    ...last && last.status !== status && status !== "settlement"
      ? [found("the last event has the payment's state", `${status}, but ${last.status}`)]
      : [],
  ];
}

function deliveriesOf(
  { events, deliveries }: Pick<History, "events" | "deliveries">,
): Difference[] {
  const delivered = new Map(deliveries.map((delivery) => [delivery.eventId, delivery]));
  const byId = new Map(events.map((event) => [event.id, event]));
  return [
    ...events.filter(({ id }) => !delivered.has(id))
      .map(({ id, name }) => difference("each event is delivered", `${id} ${name}`)),
    ...deliveries.filter(({ eventId, paymentId, sequence }) => {
      const event = byId.get(eventId);
      return event?.paymentId !== paymentId || event.sequence !== sequence;
    }).map(({ eventId }) => difference("each webhook is an event of the list", eventId)),
  ];
}

function difference(rule: string, text: string): Difference {
  return { rule, orderId: null, text };
}

function findDoubled(ids: string[]): string[] {
  const seen = new Set<string>();
  return ids.filter((id) => seen.size === seen.add(id).size);
}
