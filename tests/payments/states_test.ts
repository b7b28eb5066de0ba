import assert from "node:assert/strict";
import {
  canCancel,
  eventsOf,
  isExpired,
  isFailed,
  isPaid,
  isPending,
  isStatus,
  type KnownState,
  PAYMENT_STATUSES,
  type PaymentStatus,
  REFUNDABLE,
  type ReportedState,
  stepTo,
} from "../../core/payments/states.ts";

const COLUMNS: PaymentStatus[] = [
  ...["pending", "authorize", "capture", "settlement"] as const,
  ...["deny", "cancel", "expire", "failure"] as const,
  ...["refund", "partial_refund", "chargeback", "partial_chargeback"] as const,
];

/**
 * The step of a payment in the row's state when the column's state is reported: `+` forward, `!`
 * forward only if the report is the latest (a late denial does not undo a payment), `^` revived if
 * the report is the latest, `=` duplicate, `.` stale. A step over several states is forward, too; a
 * failed state can only be revived.
 */
const TABLE: Record<PaymentStatus, string> = {
  // ................. pend auth capt settl  deny canc expi fail  refu p_re char p_ch
  pending: /*.......*/ "=    +    +    +      +    +    +    +     +    +    +    +",
  authorize: /*.....*/ ".    =    +    +      +    +    +    .     +    +    +    +",
  capture: /*.......*/ ".    .    =    +      !    +    .    .     +    +    +    +",
  settlement: /*....*/ ".    .    .    =      !    .    .    .     +    +    +    +",
  deny: /*..........*/ "^    ^    ^    ^      =    ^    ^    ^     ^    ^    ^    ^",
  cancel: /*........*/ "^    ^    ^    ^      ^    =    ^    ^     ^    ^    ^    ^",
  expire: /*........*/ "^    ^    ^    ^      ^    ^    =    ^     ^    ^    ^    ^",
  failure: /*.......*/ "^    ^    ^    ^      ^    ^    ^    =     ^    ^    ^    ^",
  refund: /*........*/ ".    .    .    .      .    .    .    .     =    .    .    .",
  partial_refund: /**/ ".    .    .    .      .    .    .    .     +    =    +    +",
  chargeback: /*....*/ ".    .    .    .      .    .    .    .     .    .    =    .",
  partial_chargeback: ".    .    .    .      .    .    .    .     .    .    +    =",
};

const STEPS: Record<string, { latest: string; other: string }> = {
  "+": { latest: "forward", other: "forward" },
  "!": { latest: "forward", other: "stale" },
  "^": { latest: "revived", other: "stale" },
  "=": { latest: "duplicate", other: "duplicate" },
  ".": { latest: "stale", other: "stale" },
};

interface StatePair {
  from: PaymentStatus;
  to: PaymentStatus;
  mark: string;
  name: string;
}

const PAIRS: StatePair[] = COLUMNS.flatMap((from) => {
  const marks = TABLE[from].split(/\s+/);
  return COLUMNS.map((to, index) => ({ from, to, mark: marks[index]!, name: `${from} to ${to}` }));
});

/** The events that a payment sends when it enters a state, if it has sent none before. */
const EVENTS_ON_ENTRY: Record<PaymentStatus, string[]> = {
  pending: ["payment_received"],
  authorize: ["payment_received"],
  capture: ["payment_settled"],
  settlement: ["payment_settled"],
  deny: ["payment_denied"],
  cancel: ["payment_cancelled"],
  expire: ["payment_expired"],
  failure: ["payment_failed"],
  refund: ["payment_settled", "payment_refunded"],
  partial_refund: ["payment_settled", "payment_refunded"],
  chargeback: ["payment_settled", "payment_refunded"],
  partial_chargeback: ["payment_settled", "payment_refunded"],
};

const REFUND_STATUSES = ["refund", "partial_refund"];
const FAILED_STATUSES: PaymentStatus[] = ["deny", "cancel", "expire", "failure"];

function knownState(status: PaymentStatus, more: Partial<KnownState> = {}): KnownState {
  return {
    status,
    fraud: "accept",
    refunded: 0,
    isAnswered: true,
    isRefused: false,
    ...more,
  };
}

function reportedState(status: PaymentStatus, more: Partial<ReportedState> = {}): ReportedState {
  return { status, fraud: "accept", refunded: 0, isLatest: false, ...more };
}

Deno.test("payment states: the table of these tests covers every pair of states", () => {
  assert.deepEqual(new Set(COLUMNS), new Set(PAYMENT_STATUSES));
  assert.equal(PAIRS.length, 144);
  for (const { mark, name } of PAIRS) assert.ok(mark in STEPS, name);
});

Deno.test("payment states: the step between every pair of states is as in the table", () => {
  for (const { from, to, mark, name } of PAIRS) {
    const { latest, other } = STEPS[mark]!;
    assert.equal(
      stepTo(knownState(from), reportedState(to, { isLatest: true })),
      latest,
      `${name}, latest`,
    );
    assert.equal(stepTo(knownState(from), reportedState(to)), other, name);
    assert.equal(
      stepTo(knownState(from), reportedState(to, { refunded: null })),
      other,
      `${name}, no refunded amount`,
    );
  }
});

Deno.test("payment states: a payment without fraud_status takes the same steps", () => {
  for (const { from, to, mark, name } of PAIRS) {
    const step = stepTo(knownState(from, { fraud: null }), reportedState(to, { fraud: null }));
    assert.equal(step, STEPS[mark]!.other, name);
  }
});

Deno.test("payment states: every report about a rejected charge is stale", () => {
  for (const to of COLUMNS) {
    for (const isLatest of [true, false]) {
      for (const isAnswered of [true, false]) {
        const refused = knownState("failure", { isRefused: true, isAnswered });
        assert.equal(stepTo(refused, reportedState(to, { isLatest, refunded: 7 })), "stale", to);
      }
    }
  }
});

Deno.test("payment states: the first report sends an event although the state stays pending", () => {
  const unanswered = knownState("pending", { isAnswered: false, fraud: null });
  assert.equal(stepTo(unanswered, reportedState("pending")), "same");
  assert.deepEqual(eventsOf(unanswered, reportedState("pending"), false), ["payment_received"]);
  for (const to of COLUMNS.slice(1)) {
    assert.equal(stepTo(unanswered, reportedState(to)), "forward", to);
    const refunded = REFUND_STATUSES.includes(to) ? 7 : 0;
    assert.deepEqual(
      eventsOf(unanswered, reportedState(to, { refunded }), false),
      EVENTS_ON_ENTRY[to],
      to,
    );
  }
});

Deno.test("payment states: the first report about a charge that was marked failed revives it", () => {
  const markedFailed = knownState("failure", { isAnswered: false, fraud: null });
  for (const to of COLUMNS.filter((status) => status !== "failure")) {
    assert.equal(stepTo(markedFailed, reportedState(to, { isLatest: true })), "revived", to);
    assert.equal(
      stepTo(markedFailed, reportedState(to)),
      "revived",
      "the response to the charge itself",
    );
    const refunded = REFUND_STATUSES.includes(to) ? 7 : 0;
    assert.deepEqual(
      eventsOf(markedFailed, reportedState(to, { refunded }), false),
      EVENTS_ON_ENTRY[to],
      to,
    );
  }
  assert.equal(stepTo(markedFailed, reportedState("failure")), "same");
  assert.deepEqual(
    eventsOf(markedFailed, reportedState("failure"), false),
    [],
    "payment_failed was sent before",
  );
});

Deno.test("payment states: a challenge can be accepted or denied, and a later challenge report changes nothing", () => {
  for (const status of ["capture", "authorize"] as const) {
    const challenged = knownState(status, { fraud: "challenge" });
    assert.equal(stepTo(challenged, reportedState(status)), "same");
    assert.equal(stepTo(challenged, reportedState(status, { fraud: "challenge" })), "duplicate");
    assert.equal(stepTo(challenged, reportedState("deny", { fraud: "deny" })), "forward");
    assert.equal(stepTo(challenged, reportedState("cancel", { fraud: "challenge" })), "forward");
    const repeated = stepTo(
      knownState(status),
      reportedState(status, { fraud: "challenge", isLatest: true }),
    );
    assert.ok(["duplicate", "stale"].includes(repeated), repeated);
  }
});

Deno.test("payment events: a challenge sends payment_received, and its acceptance sends payment_settled", () => {
  const challenge = reportedState("capture", { fraud: "challenge" });
  const challenged = knownState("capture", { fraud: "challenge" });
  assert.deepEqual(eventsOf(knownState("pending"), challenge, false), ["payment_received"]);
  assert.deepEqual(eventsOf(knownState("authorize"), challenge, false), ["payment_received"]);
  assert.deepEqual(eventsOf(challenged, reportedState("capture"), false), ["payment_settled"]);
  assert.deepEqual(eventsOf(challenged, reportedState("settlement"), false), ["payment_settled"]);
  assert.deepEqual(eventsOf(challenged, reportedState("deny"), false), ["payment_denied"]);
  assert.deepEqual(
    eventsOf(challenged, reportedState("partial_refund", { refunded: 7 }), false),
    ["payment_settled", "payment_refunded"],
  );
  const challengedAuthorization = knownState("authorize", { fraud: "challenge" });
  assert.deepEqual(
    eventsOf(challengedAuthorization, reportedState("authorize"), false),
    [],
    "an authorization is not paid",
  );
});

Deno.test("payment states: a refund report with a larger amount is applied, except in failed states", () => {
  for (
    const { from, to, mark, name } of PAIRS.filter((pair) => REFUND_STATUSES.includes(pair.to))
  ) {
    const before = knownState(from, { refunded: 7 });
    const expected = mark === "=" || mark === "." ? "same" : STEPS[mark]!.other;
    assert.equal(stepTo(before, reportedState(to, { refunded: 8 })), expected, name);
    assert.equal(stepTo(before, reportedState(to, { refunded: 7 })), STEPS[mark]!.other, name);
    assert.equal(stepTo(before, reportedState(to, { refunded: 6 })), STEPS[mark]!.other, name);
  }
});

Deno.test("payment events: each increase of the refunded amount sends one payment_refunded", () => {
  for (
    const { from, to, mark, name } of PAIRS.filter((pair) => REFUND_STATUSES.includes(pair.to))
  ) {
    if (mark === "." || FAILED_STATUSES.includes(from)) continue;
    const before = knownState(from, { refunded: 7 });
    assert.deepEqual(eventsOf(before, reportedState(to, { refunded: 8 }), true), [
      "payment_refunded",
    ], name);
    assert.deepEqual(eventsOf(before, reportedState(to, { refunded: 7 }), true), [], name);
    assert.deepEqual(eventsOf(before, reportedState(to, { refunded: null }), true), [], name);
  }
});

Deno.test("payment events: every step sends its events, and payment_settled only once", () => {
  for (const { from, to, name } of PAIRS.filter((pair) => "+!^".includes(pair.mark))) {
    const refunded = REFUND_STATUSES.includes(to) ? 7 : 0;
    const reported = reportedState(to, { refunded, isLatest: true });
    assert.deepEqual(eventsOf(knownState(from), reported, false), EVENTS_ON_ENTRY[to], name);
    const rest = EVENTS_ON_ENTRY[to].filter((event) => event !== "payment_settled");
    assert.deepEqual(eventsOf(knownState(from), reported, true), rest, `${name}, paid before`);
  }
});

Deno.test("payment events: a chargeback sends one event, even if the same report contains a refund", () => {
  const before = knownState("partial_refund", { refunded: 7 });
  for (const to of ["chargeback", "partial_chargeback"] as const) {
    assert.deepEqual(eventsOf(before, reportedState(to, { refunded: 7 }), true), [
      "payment_refunded",
    ]);
    assert.deepEqual(eventsOf(before, reportedState(to, { refunded: 8 }), true), [
      "payment_refunded",
    ]);
  }
});

Deno.test("payment states: each state has the expected is_paid, is_pending, is_failed, is_expired and actions", () => {
  const describeState = (status: PaymentStatus, fraud: string | null) => {
    const state = { status, fraud };
    const labels = [
      isPaid(state) && "paid",
      isPending(state) && "pending",
      isFailed(state) && "failed",
      isExpired(state) && "expired",
      canCancel(status) && "can be cancelled",
      REFUNDABLE.includes(status) && "can be refunded",
    ];
    return labels.filter(Boolean).join(", ");
  };
  const expected: [PaymentStatus, string | null, string][] = [
    ["pending", null, "pending, can be cancelled"],
    ["pending", "accept", "pending, can be cancelled"],
    ["authorize", "accept", "pending, can be cancelled"],
    ["authorize", "challenge", "pending, can be cancelled"],
    ["capture", "accept", "paid, can be cancelled"],
    ["capture", null, "paid, can be cancelled"],
    ["capture", "challenge", "pending, can be cancelled"],
    ["settlement", "accept", "paid, can be refunded"],
    ["settlement", null, "paid, can be refunded"],
    ["deny", "accept", "failed"],
    ["deny", "deny", "failed"],
    ["cancel", "accept", "failed"],
    ["expire", "accept", "expired"],
    ["failure", null, "failed"],
    ["refund", "accept", ""],
    ["partial_refund", "accept", "paid, can be refunded"],
    ["chargeback", "accept", ""],
    ["partial_chargeback", "accept", "paid"],
  ];
  assert.deepEqual(new Set(expected.map(([status]) => status)), new Set(PAYMENT_STATUSES));
  for (const [status, fraud, description] of expected) {
    assert.equal(describeState(status, fraud), description, `${status} ${fraud}`);
  }
});

Deno.test("payment states: isStatus accepts only known states", () => {
  for (const status of PAYMENT_STATUSES) assert.ok(isStatus(status));
  for (const text of ["", "Settlement", "paid", "partial_settlement", "toString", null]) {
    assert.ok(!isStatus(text), String(text));
  }
});
