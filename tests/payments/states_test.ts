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
 * Where each state leads: `+` forward, `!` forward but only by the latest word (whoever is paid is
 * not denied by something late), `^` back from the dead by the latest word, `=` nothing new, `.` stale.
 * Forward along several edges is forward; from the dead nothing leads on.
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

interface Pair {
  from: PaymentStatus;
  to: PaymentStatus;
  mark: string;
  name: string;
}

const PAIRS: Pair[] = COLUMNS.flatMap((from) => {
  const marks = TABLE[from].split(/\s+/);
  return COLUMNS.map((to, index) => ({ from, to, mark: marks[index]!, name: `${from} to ${to}` }));
});

/** The events of entering a state, where all before it is new. */
const ENTERING: Record<PaymentStatus, string[]> = {
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

const BACK = ["refund", "partial_refund"];
const DEAD: PaymentStatus[] = ["deny", "cancel", "expire", "failure"];

function standing(status: PaymentStatus, more: Partial<KnownState> = {}): KnownState {
  return {
    status,
    fraud: "accept",
    refunded: 0,
    isAnswered: true,
    isRefused: false,
    ...more,
  };
}

function word(status: PaymentStatus, more: Partial<ReportedState> = {}): ReportedState {
  return { status, fraud: "accept", refunded: 0, isLatest: false, ...more };
}

Deno.test("the table of this test has every pair of states", () => {
  assert.deepEqual(new Set(COLUMNS), new Set(PAYMENT_STATUSES));
  assert.equal(PAIRS.length, 144);
  for (const { mark, name } of PAIRS) assert.ok(mark in STEPS, name);
});

Deno.test("every pair of states is a step forward, back from the dead, nothing new, or stale", () => {
  for (const { from, to, mark, name } of PAIRS) {
    const { latest, other } = STEPS[mark]!;
    assert.equal(stepTo(standing(from), word(to, { isLatest: true })), latest, `${name}, latest`);
    assert.equal(stepTo(standing(from), word(to)), other, name);
    assert.equal(stepTo(standing(from), word(to, { refunded: null })), other, `${name}, no sum`);
  }
});

Deno.test("a payment without a word of fraud detection takes the same steps", () => {
  for (const { from, to, mark, name } of PAIRS) {
    const step = stepTo(standing(from, { fraud: null }), word(to, { fraud: null }));
    assert.equal(step, STEPS[mark]!.other, name);
  }
});

Deno.test("a charge that was refused outright never comes to anything", () => {
  for (const to of COLUMNS) {
    for (const isLatest of [true, false]) {
      for (const isAnswered of [true, false]) {
        const refused = standing("failure", { isRefused: true, isAnswered });
        assert.equal(stepTo(refused, word(to, { isLatest, refunded: 7 })), "stale", to);
      }
    }
  }
});

Deno.test("the first answer is news even where it brings no other state", () => {
  const waiting = standing("pending", { isAnswered: false, fraud: null });
  assert.equal(stepTo(waiting, word("pending")), "same");
  assert.deepEqual(eventsOf(waiting, word("pending"), false), ["payment_received"]);
  for (const to of COLUMNS.slice(1)) {
    assert.equal(stepTo(waiting, word(to)), "forward", to);
    const refunded = BACK.includes(to) ? 7 : 0;
    assert.deepEqual(eventsOf(waiting, word(to, { refunded }), false), ENTERING[to], to);
  }
});

Deno.test("a charge that was given up comes back by the first word of it", () => {
  const givenUp = standing("failure", { isAnswered: false, fraud: null });
  for (const to of COLUMNS.filter((status) => status !== "failure")) {
    assert.equal(stepTo(givenUp, word(to, { isLatest: true })), "revived", to);
    assert.equal(stepTo(givenUp, word(to)), "revived", "the answer to the charge itself");
    const refunded = BACK.includes(to) ? 7 : 0;
    assert.deepEqual(eventsOf(givenUp, word(to, { refunded }), false), ENTERING[to], to);
  }
  assert.equal(stepTo(givenUp, word("failure")), "same");
  assert.deepEqual(eventsOf(givenUp, word("failure"), false), [], "that it failed was told");
});

Deno.test("a challenge is accepted or denied, and never comes again", () => {
  for (const status of ["capture", "authorize"] as const) {
    const challenged = standing(status, { fraud: "challenge" });
    assert.equal(stepTo(challenged, word(status)), "same");
    assert.equal(stepTo(challenged, word(status, { fraud: "challenge" })), "duplicate");
    assert.equal(stepTo(challenged, word("deny", { fraud: "deny" })), "forward");
    assert.equal(stepTo(challenged, word("cancel", { fraud: "challenge" })), "forward");
    const late = stepTo(standing(status), word(status, { fraud: "challenge", isLatest: true }));
    assert.ok(["duplicate", "stale"].includes(late), late);
  }
});

Deno.test("a challenge is told as received, and its acceptance as settled", () => {
  const challenge = word("capture", { fraud: "challenge" });
  const challenged = standing("capture", { fraud: "challenge" });
  assert.deepEqual(eventsOf(standing("pending"), challenge, false), ["payment_received"]);
  assert.deepEqual(eventsOf(standing("authorize"), challenge, false), ["payment_received"]);
  assert.deepEqual(eventsOf(challenged, word("capture"), false), ["payment_settled"]);
  assert.deepEqual(eventsOf(challenged, word("settlement"), false), ["payment_settled"]);
  assert.deepEqual(eventsOf(challenged, word("deny"), false), ["payment_denied"]);
  assert.deepEqual(
    eventsOf(challenged, word("partial_refund", { refunded: 7 }), false),
    ["payment_settled", "payment_refunded"],
  );
  const held = standing("authorize", { fraud: "challenge" });
  assert.deepEqual(eventsOf(held, word("authorize"), false), [], "a hold is not paid");
});

Deno.test("more money given back is news in every state that it can be given back from", () => {
  for (const { from, to, mark, name } of PAIRS.filter((pair) => BACK.includes(pair.to))) {
    const before = standing(from, { refunded: 7 });
    const expected = mark === "=" || mark === "." ? "same" : STEPS[mark]!.other;
    assert.equal(stepTo(before, word(to, { refunded: 8 })), expected, name);
    assert.equal(stepTo(before, word(to, { refunded: 7 })), STEPS[mark]!.other, name);
    assert.equal(stepTo(before, word(to, { refunded: 6 })), STEPS[mark]!.other, name);
  }
});

Deno.test("each growth of what was given back is one event, and nothing else is", () => {
  for (const { from, to, mark, name } of PAIRS.filter((pair) => BACK.includes(pair.to))) {
    if (mark === "." || DEAD.includes(from)) continue;
    const before = standing(from, { refunded: 7 });
    assert.deepEqual(eventsOf(before, word(to, { refunded: 8 }), true), ["payment_refunded"], name);
    assert.deepEqual(eventsOf(before, word(to, { refunded: 7 }), true), [], name);
    assert.deepEqual(eventsOf(before, word(to, { refunded: null }), true), [], name);
  }
});

Deno.test("every step that is taken has its events, and tells of being paid once", () => {
  for (const { from, to, mark, name } of PAIRS.filter((pair) => "+!^".includes(pair.mark))) {
    const refunded = BACK.includes(to) ? 7 : 0;
    const news = word(to, { refunded, isLatest: true });
    assert.notEqual(mark, "=");
    assert.deepEqual(eventsOf(standing(from), news, false), ENTERING[to], name);
    const rest = ENTERING[to].filter((event) => event !== "payment_settled");
    assert.deepEqual(eventsOf(standing(from), news, true), rest, `${name}, paid before`);
  }
});

Deno.test("a chargeback is told once, also where it comes with a refund", () => {
  const before = standing("partial_refund", { refunded: 7 });
  for (const to of ["chargeback", "partial_chargeback"] as const) {
    assert.deepEqual(eventsOf(before, word(to, { refunded: 7 }), true), ["payment_refunded"]);
    assert.deepEqual(eventsOf(before, word(to, { refunded: 8 }), true), ["payment_refunded"]);
  }
});

Deno.test("what each state means", () => {
  const meaning = (status: PaymentStatus, fraud: string | null) => {
    const state = { status, fraud };
    const said = [
      isPaid(state) && "paid",
      isPending(state) && "pending",
      isFailed(state) && "failed",
      isExpired(state) && "expired",
      canCancel(status) && "can be cancelled",
      REFUNDABLE.includes(status) && "can be refunded",
    ];
    return said.filter(Boolean).join(", ");
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
  for (const [status, fraud, means] of expected) {
    assert.equal(meaning(status, fraud), means, `${status} ${fraud}`);
  }
});

Deno.test("nothing else is a state", () => {
  for (const status of PAYMENT_STATUSES) assert.ok(isStatus(status));
  for (const text of ["", "Settlement", "paid", "partial_settlement", "toString", null]) {
    assert.ok(!isStatus(text), String(text));
  }
});
