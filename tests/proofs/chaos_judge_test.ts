import assert from "node:assert/strict";
import type { Call, History } from "../../proofs/chaos/history.ts";
import { judge } from "../../proofs/chaos/judge/judge.ts";
import { copyOfValid, refuse, setEvents, show } from "../support/chaos/doctored.ts";
import { ANSWER_FAULTS } from "../support/chaos/faults_of_answers.ts";
import { BOOK_FAULTS } from "../support/chaos/faults_of_books.ts";
import { EVENT_FAULTS } from "../support/chaos/faults_of_events.ts";
import { historyOfReads, validHistory } from "../support/chaos/valid_history.ts";

const FAULTS = [...BOOK_FAULTS, ...ANSWER_FAULTS, ...EVENT_FAULTS];

const EXPLAINED = "the answers have an order that explains them";

Deno.test("chaos judge: finds nothing in a valid history", () => {
  assert.deepEqual(judge(validHistory()), []);
});

Deno.test("chaos judge: knows at least fifty faults", () => {
  assert.ok(new Set(FAULTS.map(({ name }) => name)).size >= 50, `${FAULTS.length}`);
});

for (const { name, rules, doctor } of FAULTS) {
  Deno.test(`chaos judge: finds that ${name}`, () => {
    const history = copyOfValid();
    doctor(history);
    assert.deepEqual(rulesOf(history), rules.toSorted());
  });
}

function rulesOf(history: History): string[] {
  return [...new Set(judge(history).map(({ rule }) => rule))].sort();
}

/** The valid history has the order; a test removes the others, so that it fails for this one. */
function only(orderId: string): History {
  const history = validHistory();
  const paymentId = `payment-${orderId}`;
  const isOfOrder = (each: { orderId: string }) => each.orderId === orderId;
  const isOfPayment = (each: { paymentId: string }) => each.paymentId === paymentId;
  return {
    orders: history.orders.filter(isOfOrder),
    calls: history.calls.filter(isOfOrder),
    acts: history.acts.filter(isOfOrder),
    transactions: history.transactions.filter(isOfOrder),
    payments: history.payments.filter(isOfOrder),
    events: history.events.filter(isOfPayment),
    deliveries: history.deliveries.filter(isOfPayment),
  };
}

for (
  const [orderId, text] of [
    ["lost", "a charge without an outcome that did not reach the gateway fails after 15 minutes"],
    ["expired", "an unpaid payment expires when its time is over"],
    [
      "abandoned and expired",
      "an unpaid payment expires although the merchant crashed during its charge",
    ],
    ["rest refunded", "a refund without amount and outcome refunds what another refund left"],
    ["taken back", "a captured card is cancelled"],
    ["declined", "a customer declines a payment"],
  ] as const
) {
  Deno.test(`chaos judge: accepts that ${text}`, () => {
    const history = only(orderId);
    assert.equal(history.orders.length, 1);
    assert.deepEqual(judge(history), []);
  });
}

Deno.test("chaos judge: accepts an abandoned charge that was never made", () => {
  const history = copyOfValid();
  const { transactions } = history;
  transactions.splice(transactions.indexOf(history.transactionOf("abandoned")), 1);
  Object.assign(history.paymentOf("abandoned"), { transactionId: null });
  show(history.callOf("abandoned", "read"), { transactionId: null });
  setEvents(history, "abandoned", []);
  assert.deepEqual(judge(history), []);
});

Deno.test("chaos judge: accepts a refund without an outcome that was not made", () => {
  const history = copyOfValid();
  const part = { status: "partial_refund", refundedAmount: 20_000 };
  const [payment, transaction] = [
    history.paymentOf("rest refunded"),
    history.transactionOf("rest refunded"),
  ];
  for (const { refunds } of [payment, transaction]) refunds.pop();
  Object.assign(payment, part);
  transaction.status = part.status;
  show(history.callOf("rest refunded", "read", 1), part);
  const events = history.eventsOf("rest refunded").slice(0, 3);
  setEvents(history, "rest refunded", events.map(({ name, status }) => `${name} ${status}`));
  assert.deepEqual(judge(history), []);
});

Deno.test("chaos judge: accepts that a refund of the rest leaves what another one reserved", () => {
  const history = copyOfValid();
  const [part, rest] = [0, 1].map((index) => history.callOf("refunded", "refund", index));
  // Both run at the same time; the rest is refunded first, and the read before it is no more.
  rest!.startedAt = part!.startedAt;
  history.calls.splice(history.calls.indexOf(history.callOf("refunded", "read", 1)), 1);
  show(rest!, { status: "partial_refund", refundedAmount: 30_000 });
  show(part!, { status: "refund", refundedAmount: 50_000 });
  part!.endedAt = part!.answers[0]!.at = rest!.endedAt!;
  assert.deepEqual(judge(history), []);
});

Deno.test("chaos judge: accepts one event for two refunds that the service learned of at once", () => {
  const history = copyOfValid();
  const [first, second] = [0, 1].map((index) => history.callOf("refunded", "refund", index));
  second!.startedAt = first!.startedAt;
  first!.endedAt = first!.answers[0]!.at = second!.endedAt!;
  history.calls.splice(history.calls.indexOf(history.callOf("refunded", "read", 1)), 1);
  show(first!, { status: "refund", refundedAmount: 50_000 });
  setEvents(history, "refunded", [
    "payment_received pending",
    "payment_settled settlement",
    "payment_refunded refund",
  ]);
  assert.deepEqual(judge(history), []);
});

Deno.test("chaos judge: accepts a payment that the service learns of with its refund", () => {
  const history = copyOfValid();
  const { calls } = history;
  calls.splice(calls.indexOf(history.callOf("refunded", "read")), 1);
  setEvents(history, "refunded", [
    "payment_received pending",
    "payment_settled partial_refund",
    "payment_refunded partial_refund",
    "payment_refunded refund",
  ]);
  assert.deepEqual(judge(history), []);
});

Deno.test("chaos judge: accepts a payment that the service learns of during a charge", () => {
  const history = copyOfValid();
  const charge = history.callOf("settled", "charge");
  history.acts.find(({ orderId }) => orderId === "settled")!.startedAt = charge.startedAt + 1;
  show(charge, { status: "settlement", capturedAmount: 50_000 });
  assert.deepEqual(judge(history), []);
  setEvents(history, "settled", ["payment_settled settlement"]);
  assert.deepEqual(judge(history), []);
});

Deno.test("chaos judge: accepts that a capture and a cancellation at once have either order", () => {
  const history = copyOfValid();
  const cancel = history.callOf("cancelled", "cancel");
  const capture = history.callOf("cancelled", "capture");
  capture.startedAt = cancel.startedAt;
  assert.deepEqual(judge(history), []);
  Object.assign(capture, { outcome: "done" });
  const answer = { ...capture.answers[0]!, status: 200, code: null };
  const { refunds: _, ...payment } = history.paymentOf("cancelled");
  // The service learns of both, and answers the capture when the payment is cancelled already.
  capture.answers = [{ ...answer, payment }];
  assert.deepEqual(judge(history), []);
  capture.answers = [{
    ...answer,
    payment: { ...payment, status: "capture", capturedAmount: 50_000 },
  }];
  setEvents(history, "cancelled", [
    "payment_received authorize",
    "payment_settled capture",
    "payment_cancelled cancel",
  ]);
  assert.deepEqual(judge(history), []);
});

Deno.test("chaos judge: accepts a refused capture that was made and cancelled before its retry", () => {
  const history = copyOfValid();
  const [capture, cancel] = [
    history.callOf("taken back", "capture"),
    history.callOf("taken back", "cancel"),
  ];
  refuse(capture, 400, "invalid_state");
  const lost = { ...capture.answers[0]!, at: capture.startedAt, status: 0, code: null };
  const refused = { ...capture.answers[0]!, at: cancel.endedAt! + 1 };
  Object.assign(capture, { answers: [lost, refused], endedAt: refused.at });
  assert.deepEqual(judge(history), []);
});

for (
  const [status, hasRetryAfter] of [
    [0, false],
    [409, false],
    [429, false],
    [503, false],
    [400, true],
  ] as const
) {
  const name = hasRetryAfter ? `${status} with Retry-After` : status;
  Deno.test(`chaos judge: accepts that the repeat of a done call gets ${name}`, () => {
    const history = copyOfValid();
    const repeat = history.callOf("paid", "charge").answers[1]!;
    Object.assign(repeat, { status, hasRetryAfter, code: "unavailable", payment: null });
    assert.deepEqual(judge(history), []);
  });
}

const REFUSALS: [code: string, orderId: string, name: Call["name"]][] = [
  ["gateway_error", "settled", "cancel"],
  ["gateway_error", "cancelled", "capture"],
  ["gateway_error", "declined", "check"],
  ["gateway_error", "refunded", "refund"],
];

for (const [code, orderId, name] of REFUSALS) {
  Deno.test(`chaos judge: accepts that a ${name} is refused as ${code}`, () => {
    const history = copyOfValid();
    refuse(history.callOf(orderId, name, name === "refund" ? 2 : 0), 400, code);
    assert.deepEqual(judge(history), []);
  });
}

Deno.test("chaos judge: names the call and the code of a refusal that is not possible", () => {
  const history = copyOfValid();
  refuse(history.callOf("refunded", "refund", 2), 422, "idempotency_key_reused");
  const [difference] = judge(history);
  assert.equal(difference!.text, "refund: 422 idempotency_key_reused");
});

Deno.test("chaos judge: finds kinds of calls that never succeed, but not in a short run", () => {
  assert.deepEqual(judge(historyOfReads(99)), []);
  const texts = judge(historyOfReads(100)).map(({ text }) => text);
  assert.deepEqual(texts, ["refund", "capture", "cancel", "check"]);
});

Deno.test("chaos judge: finds that a payment expired a minute before its time", () => {
  const history = only("expired");
  const after = history.calls.at(-1)!;
  after.startedAt -= 60_000;
  after.endedAt = after.answers[0]!.at -= 60_000;
  assert.deepEqual(rulesOf(history), [EXPLAINED]);
});
