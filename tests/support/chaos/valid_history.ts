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
      isGivenUp: outcome === "unknown",
      answers: name === "charge" && outcome === "done"
        ? [answer, { ...structuredClone(answer), at: this.writer.tick() }]
        : [answer],
    };
    this.writer.history.calls.push(call);
    return this;
  }

  /** Long enough for a charge that is given up, and for a payment that expires. */
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

/** The names of the orders say what happens to them. */
export function validHistory(): History {
  const writer = new Writer();
  const received = "payment_received pending";
  const settled = "payment_settled settlement";
  const paid = { status: "settlement", capturedAmount: AMOUNT };
  const [first, second] = [refundOf("first", 20_000), refundOf("second", 30_000)];

  writer.order("refunded", "paid_later", "refund", [
    received,
    settled,
    "payment_refunded partial_refund",
    "payment_refunded refund",
  ])
    .call("charge", {}).act("pay").call("read", paid)
    .call("refund", { status: "partial_refund", refundedAmount: 20_000 }, {
      amount: 20_000,
      refund: first,
    })
    .call("read", {})
    .call("refund", { status: "refund", refundedAmount: AMOUNT }, { refund: second })
    .call("refund", {}, { outcome: "refused", code: "invalid_state", amount: 1 })
    .call("read", {})
    .end([first, second]);
  writer.order("captured", "held", "capture", [
    "payment_received authorize",
    "payment_settled capture",
  ])
    .call("charge", { status: "authorize" })
    .call("capture", { status: "capture", capturedAmount: 35_000 }, { amount: 35_000 })
    .call("read", {})
    .end([], 35_000);
  writer.order("cancelled", "held", "cancel", [
    "payment_received authorize",
    "payment_cancelled cancel",
  ])
    .call("charge", { status: "authorize" })
    .call("cancel", { status: "cancel" })
    .call("capture", {}, { outcome: "refused", code: "invalid_state" })
    .call("read", {})
    .end();
  writer.order("denied", "denied", "deny", ["payment_denied deny"])
    .call("charge", { status: "deny" }).call("read", {}).end();
  writer.order("paid", "paid_at_once", "capture", ["payment_settled capture"])
    .call("charge", { status: "capture", capturedAmount: AMOUNT }).call("read", {}).end();
  writer.order("settled", "paid_later", "settlement", [received, settled])
    .call("charge", {}).act("pay")
    .call("cancel", {}, { outcome: "refused", code: "invalid_state" })
    .call("read", paid).end();
  writer.order("refused", "paid_later", "failure", ["payment_failed failure"])
    .call("charge", {}, { outcome: "refused", code: "gateway_validation" })
    .end([], null);
  writer.order("abandoned", "paid_later", "pending", [received])
    .call("charge", {}, { outcome: "unknown" }).call("read", {}).end();
  writer.order("unpaid", "paid_later", "pending", [received])
    .call("charge", {}).call("read", {}).end();
  return writer.history;
}
