/** Events and webhooks that are wrong, that are missing, or that must not be. */

import { type Fault, remove, setEvents } from "./doctored.ts";

export const EVENT_FAULTS: Fault[] = [
  {
    name: "a paid payment has no payment_settled event",
    rules: [
      "a payment has one payment_settled event if it was paid, otherwise none",
      "the last event says what happened last",
    ],
    doctor(h) {
      setEvents(h, "paid", []);
    },
  },
  {
    name: "a payment is settled twice",
    rules: [
      "a payment has one payment_settled event if it was paid, otherwise none",
      "events follow each other as they can happen",
    ],
    doctor(h) {
      setEvents(h, "settled", [
        "payment_received pending",
        "payment_settled settlement",
        "payment_settled settlement",
      ]);
    },
  },
  {
    name: "a denied payment has a payment_settled event",
    rules: [
      "a payment has one payment_settled event if it was paid, otherwise none",
      "events follow each other as they can happen",
    ],
    doctor(h) {
      setEvents(h, "denied", ["payment_settled capture", "payment_denied deny"]);
    },
  },
  {
    name: "a cancelled payment that was never captured has a payment_settled event",
    rules: ["a payment has one payment_settled event if it was paid, otherwise none"],
    doctor(h) {
      setEvents(h, "cancelled", [
        "payment_received authorize",
        "payment_settled capture",
        "payment_cancelled cancel",
      ]);
    },
  },
  {
    name: "a captured payment that was cancelled has no payment_settled event",
    rules: ["a payment has one payment_settled event if it was paid, otherwise none"],
    doctor(h) {
      setEvents(h, "taken back", ["payment_received authorize", "payment_cancelled cancel"]);
    },
  },
  {
    name: "a payment has no payment_received event",
    rules: ["a payment that was shown as open has a payment_received event"],
    doctor(h) {
      setEvents(h, "settled", ["payment_settled settlement"]);
    },
  },
  {
    name: "a pending payment has no event",
    rules: [
      "a payment that was shown as open has a payment_received event",
      "the last event says what happened last",
    ],
    doctor(h) {
      setEvents(h, "unpaid", []);
    },
  },
  {
    name: "a payment is received after it was paid",
    rules: [
      "events follow each other as they can happen",
      "the last event has the payment's state",
      "the last event says what happened last",
    ],
    doctor(h) {
      setEvents(h, "settled", ["payment_settled settlement", "payment_received pending"]);
    },
  },
  {
    name: "two refunds have one event",
    rules: ["the refunds of a payment have their payment_refunded events"],
    doctor(h) {
      setEvents(h, "refunded", [
        "payment_received pending",
        "payment_settled settlement",
        "payment_refunded refund",
      ]);
    },
  },
  {
    name: "a refund has two events",
    rules: ["the refunds of a payment have their payment_refunded events"],
    doctor(h) {
      setEvents(h, "refunded", [
        "payment_received pending",
        "payment_settled settlement",
        "payment_refunded partial_refund",
        "payment_refunded refund",
        "payment_refunded refund",
      ]);
    },
  },
  {
    name: "an expired payment has no payment_expired event",
    rules: ["the last event has the payment's state", "the last event says what happened last"],
    doctor(h) {
      setEvents(h, "expired", ["payment_received pending"]);
    },
  },
  {
    name: "an event in the middle is missing",
    rules: [
      "each webhook is an event of the list",
      "events of a payment are numbered in order",
      "the refunds of a payment have their payment_refunded events",
    ],
    doctor(h) {
      remove(h.events, h.eventsOf("refunded")[2]!);
    },
  },
  {
    name: "the numbers of events are exchanged",
    rules: ["each webhook is an event of the list", "events of a payment are numbered in order"],
    doctor(h) {
      const [first, second] = h.eventsOf("settled");
      [first!.sequence, second!.sequence] = [2, 1];
    },
  },
  {
    name: "an event is listed twice",
    rules: [
      "an event is listed once",
      "events follow each other as they can happen",
      "events of a payment are numbered in order",
    ],
    doctor(h) {
      h.events.push(h.eventsOf("abandoned")[0]!);
    },
  },
  {
    name: "the last event is missing",
    rules: ["the last event has the payment's state", "the last event says what happened last"],
    doctor(h) {
      setEvents(h, "cancelled", ["payment_received authorize"]);
    },
  },
  {
    name: "an event has a state of another event",
    rules: [
      "an event has a state that fits its name",
      "each webhook is an event of the list",
      "the last event has the payment's state",
    ],
    doctor(h) {
      h.eventsOf("denied")[0]!.status = "pending";
    },
  },
  {
    name: "the last event has another state",
    rules: ["the last event has the payment's state"],
    doctor(h) {
      setEvents(h, "settled", ["payment_received pending", "payment_settled partial_refund"]);
    },
  },
  {
    name: "an event is about no payment",
    rules: ["an event is about a payment of the run", "each event is delivered"],
    doctor(h) {
      h.events.push({ ...h.eventsOf("paid")[0]!, id: "another", paymentId: "another" });
    },
  },
  {
    name: "a webhook is lost",
    rules: ["each event is delivered"],
    doctor(h) {
      remove(h.deliveries, h.deliveriesOf("refunded")[3]!);
    },
  },
  {
    name: "a webhook is about no event",
    rules: ["each webhook is an event of the list"],
    doctor(h) {
      h.deliveries.push({ ...h.deliveriesOf("paid")[0]!, eventId: "another" });
    },
  },
  {
    name: "a webhook has another number",
    rules: ["each webhook is an event of the list"],
    doctor(h) {
      h.deliveriesOf("paid")[0]!.sequence = 2;
    },
  },
  {
    name: "a webhook has another name",
    rules: ["each webhook is an event of the list"],
    doctor(h) {
      h.deliveriesOf("denied")[0]!.name = "payment_settled";
    },
  },
  {
    name: "a webhook has another state",
    rules: ["each webhook is an event of the list"],
    doctor(h) {
      h.deliveriesOf("denied")[0]!.status = "capture";
    },
  },
];
