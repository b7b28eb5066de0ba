/** A history in which nothing differs, with an order of each kind. Tests falsify copies of it. */

import type {
  Act,
  Answer,
  Call,
  CallName,
  History,
  Method,
  Order,
  Outcome,
  PaymentState,
  RefundState,
} from "../../../proofs/chaos/history.ts";

const AMOUNT = 50_000;

const QUARTER_HOUR_MS = 15 * 60_000;

/** Writes the history of one order after the other; each step takes some milliseconds. */
class Writer {
  readonly history: History = {
    orders: [],
    calls: [],
    acts: [],
    transactions: [],
    payments: [],
    events: [],
    deliveries: [],
  };
  #now = 1_000;

  order(orderId: string, method: Method, status: string, events: string[]): OrderWriter {
    const lifeMs = method === "paid_later" ? QUARTER_HOUR_MS : null;
    const order: Order = { orderId, method, amount: AMOUNT, lifeMs };
    this.history.orders.push(order);
    return new OrderWriter(this, order, status, events);
  }

  wait(ms: number): void {
    this.#now += ms;
  }

  tick(): number {
    return this.#now += 10;
  }
}

class OrderWriter {
  readonly payment: PaymentState;

  /** `status` is the last one of the payment; each event has the status of its transition. */
  constructor(
    readonly writer: Writer,
    readonly order: Order,
    readonly status: string,
    readonly events: string[],
  ) {
    const { orderId, amount } = order;
    this.payment = {
      id: `payment-${orderId}`,
      orderId,
      transactionId: `transaction-${orderId}`,
      status: "pending",
      grossAmount: amount,
      capturedAmount: null,
      refundedAmount: 0,
    };
  }

  call(
    name: CallName,
    shown: Partial<PaymentState>,
    more: { outcome?: Outcome; amount?: number; refund?: RefundState; code?: string } = {},
  ): this {
    const { outcome = "done", amount = null, refund = null, code = null } = more;
    const { orderId } = this.order;
    const startedAt = this.writer.tick();
    const at = this.writer.tick();
    Object.assign(this.payment, shown);
    const payment = outcome === "done" ? { ...this.payment } : null;
    const answer: Answer = {
      at,
      status: outcome === "done" ? 200 : outcome === "refused" ? 400 : 0,
      code,
      hasRetryAfter: false,
      payment,
      refund,
    };
    const call: Call = {
      orderId,
      name,
      key: name === "read" || name === "check" ? null : `key-${at}`,
      amount,
      startedAt,
      endedAt: outcome === "unknown" ? null : at,
      outcome,
      hasCrashed: outcome === "unknown",
      answers: name === "charge" && outcome === "done"
        ? [answer, { ...structuredClone(answer), at: this.writer.tick() }]
        : [answer],
    };
    this.writer.history.calls.push(call);
    return this;
  }

  /** Long enough for a lost charge to be marked as failed, and for a payment to expire. */
  wait(): this {
    this.writer.wait(QUARTER_HOUR_MS);
    return this;
  }

  act(name: Act["name"]): this {
    const { orderId } = this.order;
    this.writer.history.acts.push({ orderId, name, startedAt: this.writer.tick() });
    return this;
  }

  /** Writes the records at the end. `amount`: of the transaction; null: there is none. */
  end(refunds: RefundState[] = [], amount: number | null = this.order.amount): void {
    const { history } = this.writer;
    const { orderId } = this.order;
    const { id, transactionId } = this.payment;
    const isPaid = ["capture", "settlement", "partial_refund", "refund"].includes(this.status);
    history.payments.push({
      ...this.payment,
      transactionId: amount === null ? null : transactionId,
      status: this.status,
      capturedAmount: isPaid ? amount : null,
      refundedAmount: refunds.reduce((sum, refund) => sum + refund.amount, 0),
      refunds,
    });
    if (amount !== null) {
      history.transactions.push({
        id: transactionId!,
        orderId,
        paymentId: id,
        status: this.status,
        amount,
        refunds: refunds.map(({ key, amount }) => ({ key, amount })),
      });
    }
    for (const [index, event] of this.events.entries()) {
      const [name, status] = event.split(" ") as [string, string];
      const eventId = `event-${orderId}-${index + 1}`;
      const sequence = index + 1;
      history.events.push({ id: eventId, name, paymentId: id, sequence, status });
      history.deliveries.push({ eventId, name, paymentId: id, sequence, status });
    }
  }
}

function refundOf(key: string, amount: number): RefundState {
  return { id: key, key, amount, status: "succeeded" };
}

const RECEIVED = "payment_received pending";
const SETTLED = "payment_settled settlement";
const SHOWN_PAID = { status: "settlement", capturedAmount: AMOUNT };

/** No two records of the copy share an object, so that a test changes one of them only. */
function copyOf(history: History): History {
  return JSON.parse(JSON.stringify(history));
}

/** The names of the orders say what happens to them. */
export function validHistory(): History {
  const writer = new Writer();
  placeRefunded(writer);
  placeHeld(writer);
  writer.order("denied", "denied", "deny", ["payment_denied deny"])
    .call("charge", { status: "deny" }).call("read", {}).end();
  writer.order("paid", "paid_at_once", "capture", ["payment_settled capture"])
    .call("charge", { status: "capture", capturedAmount: AMOUNT }).call("read", {}).end();
  writer.order("settled", "paid_later", "settlement", [RECEIVED, SETTLED])
    .call("charge", {}).act("pay")
    .call("cancel", {}, { outcome: "refused", code: "invalid_state" })
    .call("check", {}, { outcome: "refused", code: "gateway_error" })
    .call("read", SHOWN_PAID).end();
  writer.order("declined", "paid_later", "deny", [RECEIVED, "payment_denied deny"])
    .call("charge", {}).act("deny").call("check", { status: "deny" }).end();
  writer.order("abandoned", "paid_later", "pending", [RECEIVED])
    .call("charge", {}, { outcome: "unknown" }).call("read", {}).end();
  writer.order("unpaid", "paid_later", "pending", [RECEIVED])
    .call("charge", {}).call("read", {}).end();
  placeLostCharge(writer);
  placeExpired(writer, "expired", "done");
  placeExpired(writer, "abandoned and expired", "unknown");
  placeLostRefund(writer);
  return copyOf(writer.history);
}

function placeRefunded(writer: Writer): void {
  const [first, second] = [refundOf("first", 20_000), refundOf("second", 30_000)];
  writer.order("refunded", "paid_later", "refund", [
    RECEIVED,
    SETTLED,
    "payment_refunded partial_refund",
    "payment_refunded refund",
  ])
    .call("charge", {}).act("pay").call("read", SHOWN_PAID)
    .call("refund", { status: "partial_refund", refundedAmount: 20_000 }, {
      amount: 20_000,
      refund: first,
    })
    .call("read", {})
    .call("refund", { status: "refund", refundedAmount: AMOUNT }, { refund: second })
    .call("refund", {}, { outcome: "refused", code: "invalid_state", amount: 1 })
    .call("read", {})
    .end([first, second]);
}

function placeHeld(writer: Writer): void {
  const received = "payment_received authorize";
  writer.order("captured", "held", "capture", [received, "payment_settled capture"])
    .call("charge", { status: "authorize" })
    .call("capture", { status: "capture", capturedAmount: 35_000 }, { amount: 35_000 })
    .call("read", {})
    .end([], 35_000);
  writer.order("cancelled", "held", "cancel", [received, "payment_cancelled cancel"])
    .call("charge", { status: "authorize" })
    .call("cancel", { status: "cancel" })
    .call("capture", {}, { outcome: "refused", code: "invalid_state" })
    .call("read", {})
    .end();
  writer.order("taken back", "held", "cancel", [
    received,
    "payment_settled capture",
    "payment_cancelled cancel",
  ])
    .call("charge", { status: "authorize" })
    .call("capture", { status: "capture", capturedAmount: AMOUNT })
    .call("cancel", { status: "cancel", capturedAmount: null })
    .end();
}

/** A charge during which the merchant crashes, and that never reaches the gateway. */
function placeLostCharge(writer: Writer): void {
  writer.order("lost", "paid_later", "failure", ["payment_failed failure"])
    .call("charge", {}, { outcome: "unknown" })
    .call("check", { transactionId: null })
    .wait()
    .call("check", { status: "failure" })
    .end([], null);
}

/** A payment that expires. */
function placeExpired(writer: Writer, orderId: string, outcome: Outcome): void {
  writer.order(orderId, "paid_later", "expire", [RECEIVED, "payment_expired expire"])
    .call("charge", {}, { outcome })
    .call("read", {})
    .wait()
    .call("read", { status: "expire" })
    .end();
}

/** A refund without an amount during which the merchant crashes; it follows another refund. */
function placeLostRefund(writer: Writer): void {
  const [part, rest] = [refundOf("part", 20_000), refundOf("rest", 30_000)];
  writer.order("rest refunded", "paid_later", "refund", [
    RECEIVED,
    SETTLED,
    "payment_refunded partial_refund",
    "payment_refunded refund",
  ])
    .call("charge", {}).act("pay").call("read", SHOWN_PAID)
    .call("refund", { status: "partial_refund", refundedAmount: 20_000 }, {
      amount: 20_000,
      refund: part,
    })
    .call("refund", {}, { outcome: "unknown" })
    .call("read", { status: "refund", refundedAmount: AMOUNT })
    .end([part, rest]);
}

/** This number of orders that are paid at once, and are only read. */
export function historyOfReads(orders: number): History {
  const writer = new Writer();
  for (let number = 1; number <= orders; number++) {
    writer.order(`paid-${number}`, "paid_at_once", "capture", ["payment_settled capture"])
      .call("charge", { status: "capture", capturedAmount: AMOUNT }).call("read", {}).end();
  }
  return writer.history;
}
