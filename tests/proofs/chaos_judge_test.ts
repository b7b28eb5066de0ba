import assert from "node:assert/strict";
import type {
  Call,
  Delivery,
  FinalPayment,
  History,
  ListedEvent,
  Transaction,
} from "../../proofs/chaos/history.ts";
import { judge } from "../../proofs/chaos/judge/judge.ts";
import { validHistory } from "../support/chaos/valid_history.ts";

/** A copy of the valid history, with shortcuts to what a fault changes. */
interface Doctored extends History {
  callOf(orderId: string, name: Call["name"], index?: number): Call;
  paymentOf(orderId: string): FinalPayment;
  transactionOf(orderId: string): Transaction;
  eventsOf(orderId: string): ListedEvent[];
  deliveriesOf(orderId: string): Delivery[];
}

function copyOfValid(): Doctored {
  const history = validHistory();
  const idOf = (orderId: string) => `payment-${orderId}`;
  return {
    ...history,
    callOf: (orderId, name, index = 0) =>
      history.calls.filter((call) => call.orderId === orderId && call.name === name)[index]!,
    paymentOf: (orderId) => history.payments.find((each) => each.orderId === orderId)!,
    transactionOf: (orderId) => history.transactions.find((each) => each.orderId === orderId)!,
    eventsOf: (orderId) => history.events.filter(({ paymentId }) => paymentId === idOf(orderId)),
    deliveriesOf: (orderId) =>
      history.deliveries.filter(({ paymentId }) => paymentId === idOf(orderId)),
  };
}

/** Changes what every answer of a call shows. */
function show(call: Call, state: object): void {
  for (const { payment } of call.answers) Object.assign(payment!, state);
}

function remove<T>(list: T[], ...items: T[]): void {
  for (const item of items) list.splice(list.indexOf(item), 1);
}

const ORDER = "the answers have an order that explains them";

/** What falsifies the history, the rule that notices it, and the fault. */
const FAULTS: [fault: string, rule: string, doctor: (history: Doctored) => void][] = [
  // Charges
  ["an order is charged twice at the gateway", "an order has one transaction at most", (h) => {
    h.transactions.push({ ...h.transactionOf("unpaid"), id: "another" });
  }],
  ["an abandoned charge is charged twice", "an order has one transaction at most", (h) => {
    h.transactions.push({ ...h.transactionOf("abandoned"), id: "another" });
  }],
  ["an order has two payments", "an order has one payment at most", (h) => {
    h.payments.push({ ...h.paymentOf("paid"), id: "another" });
  }],
  ["an acknowledged payment is lost", "an acknowledged charge is stored", (h) => {
    remove(h.payments, h.paymentOf("paid"));
  }],
  ["an acknowledged payment gets another id", "an acknowledged charge is stored", (h) => {
    h.paymentOf("unpaid").id = "another";
  }],
  [
    "the answer names a transaction that does not exist",
    "an acknowledged charge has the transaction that its answer names",
    (h) => show(h.callOf("unpaid", "charge"), { transactionId: "another" }),
  ],
  [
    "an acknowledged charge was never made",
    "an acknowledged charge has the transaction that its answer names",
    (h) => remove(h.transactions, h.transactionOf("paid")),
  ],
  ["a refused charge was made", "a refused charge has no transaction", (h) => {
    h.transactions.push({ ...h.transactionOf("unpaid"), id: "other", orderId: "refused" });
  }],
  ["a refused charge is stored as paid", "a payment without a transaction is not paid", (h) => {
    h.paymentOf("refused").status = "settlement";
  }],
  [
    "the service does not know a transaction",
    "a transaction has the payment that charged it",
    (h) => h.paymentOf("abandoned").transactionId = null,
  ],
  [
    "a transaction belongs to another payment",
    "a transaction has the payment that charged it",
    (h) => h.transactionOf("settled").paymentId = h.paymentOf("unpaid").id,
  ],
  ["the gateway charged more", "payment and transaction have the same amount", (h) => {
    h.transactionOf("unpaid").amount += 1;
  }],
  ["the payment has another amount", "payment and transaction have the same amount", (h) => {
    h.paymentOf("captured").grossAmount = 35_000;
  }],
  ["an order appears that was never placed", "nothing is invented", (h) => {
    h.payments.push({ ...h.paymentOf("unpaid"), id: "forged", orderId: "forged" });
  }],
  ["a transaction appears that was never ordered", "nothing is invented", (h) => {
    h.transactions.push({ ...h.transactionOf("unpaid"), id: "forged", orderId: "forged" });
  }],
  // Answers to repeated attempts
  ["a repeated charge names another payment", "repeated attempts get the same answer", (h) => {
    h.callOf("paid", "charge").answers[1]!.payment!.id = "another";
  }],
  ["a repeated charge has a newer state", "repeated attempts get the same answer", (h) => {
    Object.assign(h.callOf("settled", "charge").answers[1]!.payment!, { status: "settlement" });
  }],
  ["an answer is about another order", "every answer is about the order", (h) => {
    h.callOf("settled", "read").answers[0]!.payment!.orderId = "unpaid";
  }],
  ["an answer is about another payment", "every answer is about the order", (h) => {
    h.callOf("unpaid", "read").answers[0]!.payment!.id = "payment-paid";
  }],
  ["the service has an internal error", "the service does not fail", (h) => {
    const { answers } = h.callOf("paid", "read");
    answers.unshift({ ...answers[0]!, at: 1, status: 500, code: "internal_error", payment: null });
  }],
  // States
  [
    "the service did not learn of a payment",
    "payment and transaction have the same status",
    (h) => {
      h.paymentOf("settled").status = "pending";
    },
  ],
  [
    "a forged notification settled a payment",
    "payment and transaction have the same status",
    (h) => {
      h.paymentOf("unpaid").status = "settlement";
    },
  ],
  ["a cancelled payment is paid", "payment and transaction have the same status", (h) => {
    h.transactionOf("cancelled").status = "capture";
  }],
  ["a read shows a payment as paid before it was", ORDER, (h) => {
    show(h.callOf("unpaid", "read"), { status: "settlement", capturedAmount: 50_000 });
  }],
  ["a read shows an older state than the read before", ORDER, (h) => {
    const refunds = { status: "settlement", refundedAmount: 0 };
    show(h.callOf("refunded", "read", 2), refunds);
  }],
  ["a read does not show an acknowledged refund", ORDER, (h) => {
    show(h.callOf("refunded", "read", 1), { status: "settlement", refundedAmount: 0 });
  }],
  ["a read does not show an acknowledged capture", ORDER, (h) => {
    show(h.callOf("captured", "read"), { status: "authorize", capturedAmount: null });
  }],
  ["a read shows another captured amount", ORDER, (h) => {
    show(h.callOf("captured", "read"), { capturedAmount: 50_000 });
  }],
  ["a read does not show an acknowledged cancellation", ORDER, (h) => {
    show(h.callOf("cancelled", "read"), { status: "authorize" });
  }],
  ["a denied card is shown as paid", ORDER, (h) => {
    show(h.callOf("denied", "read"), { status: "capture", capturedAmount: 50_000 });
  }],
  ["a charge is acknowledged before the customer pays, as paid", ORDER, (h) => {
    show(h.callOf("settled", "charge"), { status: "settlement", capturedAmount: 50_000 });
  }],
  ["a pending payment is expired although nothing expired it", ORDER, (h) => {
    show(h.callOf("unpaid", "read"), { status: "expire" });
  }],
  ["a payment that can be cancelled is refused as not cancellable", ORDER, (h) => {
    h.acts.splice(h.acts.findIndex(({ orderId }) => orderId === "settled"), 1);
    show(h.callOf("settled", "read"), { status: "pending", capturedAmount: null });
  }],
  ["a refund is refused although enough is left", ORDER, (h) => {
    const refused = h.callOf("refunded", "refund", 2);
    const before = h.callOf("refunded", "read", 0);
    const after = h.callOf("refunded", "refund", 0);
    refused.startedAt = before.endedAt! + 1;
    refused.endedAt = refused.answers[0]!.at = after.startedAt - 1;
  }],
  ["a held payment cannot be captured", ORDER, (h) => {
    const refused = h.callOf("cancelled", "capture");
    const charged = h.callOf("cancelled", "charge");
    refused.startedAt = charged.endedAt! + 1;
    refused.endedAt = refused.answers[0]!.at = h.callOf("cancelled", "cancel").startedAt - 1;
  }],
  // Captures and cancellations
  ["the gateway captured another amount", "a captured amount is what the gateway took", (h) => {
    h.transactionOf("captured").amount = 30_000;
  }],
  [
    "more was captured than requested",
    "an acknowledged capture took the requested amount",
    (h) => {
      h.callOf("captured", "capture").amount = 30_000;
    },
  ],
  ["an acknowledged capture was lost", "payment and transaction have the same status", (h) => {
    h.transactionOf("captured").status = "authorize";
  }],
  [
    "an acknowledged cancellation was not made",
    "an acknowledged cancellation is in the books",
    (h) => h.transactionOf("cancelled").status = "authorize",
  ],
  // Refunds
  ["an acknowledged refund was not made", "an acknowledged refund is in the books once", (h) => {
    h.transactionOf("refunded").refunds.pop();
  }],
  ["a refund was made twice", "an acknowledged refund is in the books once", (h) => {
    const { refunds } = h.transactionOf("refunded");
    refunds.push({ ...refunds[0]! });
  }],
  ["more was refunded than paid", "refunds do not exceed what was paid", (h) => {
    h.transactionOf("refunded").refunds[1]!.amount = 40_000;
  }],
  ["a refund appears that was not requested", "each refund in the books was requested", (h) => {
    h.transactionOf("settled").refunds.push({ key: "forged", amount: 1 });
  }],
  ["a refund has another amount", "an acknowledged refund has the requested amount", (h) => {
    h.callOf("refunded", "refund").answers[0]!.refund!.amount = 25_000;
  }],
  [
    "two refunds are answered with the same one",
    "two calls are not answered with the same refund",
    (h) => {
      const [first, second] = [0, 1].map((index) => h.callOf("refunded", "refund", index));
      second!.answers[0]!.refund = first!.answers[0]!.refund;
    },
  ],
  ["a refund is missing in the service", "payment and transaction have the same refunds", (h) => {
    h.paymentOf("refunded").refunds.pop();
  }],
  ["the refunded sum is wrong", "payment and transaction have the same refunds", (h) => {
    h.paymentOf("refunded").refundedAmount = 20_000;
  }],
  ["a refund stays pending", "no refund is left pending", (h) => {
    h.paymentOf("refunded").refunds[0]!.status = "pending";
  }],
  // Events
  ["a paid payment has no event", "a paid payment has one payment_settled event", (h) => {
    h.eventsOf("paid")[0]!.name = "payment_received";
  }],
  ["a payment is settled twice", "a paid payment has one payment_settled event", (h) => {
    h.eventsOf("settled")[0]!.name = "payment_settled";
  }],
  ["an event is missing", "events of a payment are numbered in order", (h) => {
    remove(h.events, h.eventsOf("refunded")[1]!);
  }],
  ["events are listed in another order", "events of a payment are numbered in order", (h) => {
    const [first, second] = h.eventsOf("settled");
    [first!.sequence, second!.sequence] = [2, 1];
  }],
  ["an event is listed twice", "an event is listed once", (h) => {
    h.events.push(h.eventsOf("paid")[0]!);
  }],
  ["the last event is an older one", "the last event says what happened last", (h) => {
    remove(h.events, h.eventsOf("cancelled")[1]!);
  }],
  ["an event has another state", "the last event has the payment's state", (h) => {
    h.eventsOf("denied")[0]!.status = "pending";
  }],
  ["an event is about no payment", "an event is about a payment of the run", (h) => {
    h.events.push({ ...h.eventsOf("paid")[0]!, id: "another", paymentId: "another" });
  }],
  ["a webhook is lost", "each event is delivered", (h) => {
    remove(h.deliveries, h.deliveriesOf("refunded")[3]!);
  }],
  ["a webhook is about no event", "each webhook is an event of the list", (h) => {
    h.deliveries.push({ ...h.deliveriesOf("paid")[0]!, eventId: "another" });
  }],
  ["a webhook has another number", "each webhook is an event of the list", (h) => {
    h.deliveriesOf("paid")[0]!.sequence = 2;
  }],
];

Deno.test("chaos judge: finds nothing in a valid history", () => {
  assert.deepEqual(judge(validHistory()), []);
});

Deno.test("chaos judge: knows at least fifty faults", () => {
  assert.ok(new Set(FAULTS.map(([fault]) => fault)).size >= 50, `${FAULTS.length}`);
});

for (const [fault, rule, doctor] of FAULTS) {
  Deno.test(`chaos judge: finds that ${fault}`, () => {
    const history = copyOfValid();
    doctor(history);
    const rules = judge(history).map((difference) => difference.rule);
    assert.ok(rules.includes(rule), JSON.stringify(judge(history), null, 1));
  });
}

Deno.test("chaos judge: accepts an abandoned charge that was never made", () => {
  const history = copyOfValid();
  remove(history.transactions, history.transactionOf("abandoned"));
  Object.assign(history.paymentOf("abandoned"), { transactionId: null });
  assert.deepEqual(judge(history), []);
});

Deno.test("chaos judge: accepts a payment that the service learns of during a charge", () => {
  const history = copyOfValid();
  const charge = history.callOf("settled", "charge");
  history.acts.find(({ orderId }) => orderId === "settled")!.startedAt = charge.startedAt + 1;
  show(charge, { status: "settlement", capturedAmount: 50_000 });
  assert.deepEqual(judge(history), []);
});

Deno.test("chaos judge: accepts that a capture and a cancellation at once have either order", () => {
  const history = copyOfValid();
  const cancel = history.callOf("cancelled", "cancel");
  const capture = history.callOf("cancelled", "capture");
  capture.startedAt = cancel.startedAt;
  assert.deepEqual(judge(history), []);
  Object.assign(capture, { outcome: "done" });
  Object.assign(capture.answers[0]!, {
    status: 200,
    code: null,
    payment: { ...history.paymentOf("cancelled"), status: "capture", capturedAmount: 50_000 },
  });
  assert.deepEqual(judge(history).map(({ rule }) => rule), []);
});
