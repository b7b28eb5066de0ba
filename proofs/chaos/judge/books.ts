/** Compares what the service said and stores with the gateway's books. */

import {
  type Call,
  type Difference,
  finalAnswer,
  type FinalPayment,
  type History,
  type Order,
  type Transaction,
} from "../history.ts";

/** All that is known of one order at the end. */
export interface OrderRecords {
  order: Order;
  calls: Call[];
  transactions: Transaction[];
  payments: FinalPayment[];
}

type Rule = (records: OrderRecords) => string | null;

/** By name, each rule about an order. It returns what is wrong, or null. */
const RULES: Record<string, Rule> = {
  "an order has one transaction at most": ({ transactions }) =>
    transactions.length > 1 ? `the gateway has ${transactions.length}` : null,

  "an order has one payment at most": ({ payments }) =>
    payments.length > 1 ? `the service has ${payments.length}` : null,

  "an acknowledged charge is stored": ({ calls, payments }) => {
    const answered = chargeOf(calls, "done");
    if (!answered) return null;
    const id = finalAnswer(answered)?.payment?.id;
    return payments.some((payment) => payment.id === id) ? null : `payment ${id} does not exist`;
  },

  "an acknowledged charge has the transaction that its answer names": ({ calls, transactions }) => {
    const answered = chargeOf(calls, "done");
    if (!answered) return null;
    const id = finalAnswer(answered)?.payment?.transactionId;
    return transactions.some((each) => each.id === id) ? null : `the gateway does not have ${id}`;
  },

  "a refused charge has no transaction": ({ calls, transactions }) =>
    chargeOf(calls, "refused") && transactions.length > 0
      ? `the gateway has ${transactions[0]!.id}`
      : null,

  "a transaction has the payment that charged it": ({ transactions, payments }) => {
    const wrong = transactions.find(({ id, paymentId }) =>
      !payments.some((payment) => payment.transactionId === id && payment.id === paymentId)
    );
    return wrong ? `no payment has ${wrong.id}` : null;
  },

  "a payment without a transaction is not paid": ({ payments, transactions }) => {
    const wrong = payments.find(({ transactionId, status }) =>
      !transactions.some(({ id }) => id === transactionId) &&
      status !== "failure" && status !== "pending"
    );
    return wrong ? `it is ${wrong.status}` : null;
  },

  "payment and transaction have the same amount": (records) =>
    compare(
      records,
      ({ grossAmount }, { amount }, { order }) =>
        order.amount === grossAmount && (order.method === "held" || amount === grossAmount)
          ? null
          : `order ${order.amount}, payment ${grossAmount}, transaction ${amount}`,
    ),

  "payment and transaction have the same status": (records) =>
    compare(
      records,
      (payment, transaction) =>
        payment.status === transaction.status
          ? null
          : `payment ${payment.status}, transaction ${transaction.status}`,
    ),

  "a captured amount is what the gateway took": (records) =>
    compare(
      records,
      ({ capturedAmount }, { amount, status }) =>
        capturedAmount === (PAID.includes(status) ? amount : null)
          ? null
          : `captured ${capturedAmount}, transaction ${amount}, ${status}`,
    ),

  "payment and transaction have the same refunds": (records) =>
    compare(records, ({ refunds, refundedAmount }, transaction) => {
      const own = refunds.filter(({ status }) => status === "succeeded");
      const [ours, theirs] = [own, transaction.refunds].map((all) =>
        all.map(({ key, amount }) => `${key} ${amount}`).sort().join(", ")
      );
      if (ours !== theirs) return `payment: ${ours}; transaction: ${theirs}`;
      return refundedAmount === sumOf(own) ? null : `refunded ${refundedAmount}, sum ${sumOf(own)}`;
    }),

  "refunds do not exceed what was paid": ({ transactions }) => {
    const wrong = transactions.find(({ refunds, amount }) => sumOf(refunds) > amount);
    return wrong ? `${sumOf(wrong.refunds)} of ${wrong.amount}` : null;
  },

  "an acknowledged refund is in the books once": ({ calls, transactions }) =>
    findText(callsOf(calls, "refund", "done"), (call) => {
      const refund = finalAnswer(call)?.refund;
      const booked = transactions.flatMap(({ refunds }) => refunds)
        .filter(({ key, amount }) => key === refund?.key && amount === refund.amount);
      return booked.length === 1 ? null : `${refund?.key}: ${booked.length} times`;
    }),

  "an acknowledged refund has the requested amount": ({ calls }) =>
    findText(callsOf(calls, "refund", "done"), (call) => {
      const amount = finalAnswer(call)?.refund?.amount;
      return call.amount === null || call.amount === amount
        ? null
        : `${amount} instead of ${call.amount}`;
    }),

  "two calls are not answered with the same refund": ({ calls }) => {
    const keys = callsOf(calls, "refund", "done").map((call) => finalAnswer(call)?.refund?.key);
    return new Set(keys).size === keys.length ? null : keys.join(", ");
  },

  "each refund in the books was requested": ({ calls, transactions }) => {
    const booked = transactions.flatMap(({ refunds }) => refunds).length;
    const possible = calls.filter(({ name, outcome }) =>
      name === "refund" && outcome !== "refused"
    );
    return booked > possible.length ? `${booked} for ${possible.length} calls` : null;
  },

  "an acknowledged capture took the requested amount": ({ order, calls, transactions }) =>
    findText(callsOf(calls, "capture", "done"), (call) => {
      const taken = transactions.find(({ status }) => [...PAID, "cancel"].includes(status))?.amount;
      const requested = call.amount ?? order.amount;
      return taken === requested ? null : `${taken} instead of ${requested}`;
    }),

  "an acknowledged cancellation is in the books": ({ calls, transactions }) =>
    callsOf(calls, "cancel", "done").length === 0 ||
      transactions.every(({ status }) => status === "cancel")
      ? null
      : `the gateway has ${transactions[0]?.status}`,

  "no refund is left pending": ({ payments }) => {
    const pending = payments.flatMap(({ refunds }) => refunds)
      .find(({ status }) => status === "pending");
    return pending ? pending.key : null;
  },
};

/** The statuses of a payment that is paid. */
export const PAID = ["capture", "settlement", "partial_refund", "refund"];

export function compareWithBooks(records: OrderRecords): Difference[] {
  return Object.entries(RULES).flatMap(([rule, check]) => {
    const text = check(records);
    return text === null ? [] : [{ rule, orderId: records.order.orderId, text }];
  });
}

/** Payments and transactions of orders that the merchant never placed. */
export function findUnrequested({ orders, payments, transactions }: History): Difference[] {
  const known = new Set(orders.map(({ orderId }) => orderId));
  return [...payments, ...transactions].filter(({ orderId }) => !known.has(orderId))
    .map(({ id, orderId }) => ({ rule: "every record belongs to an order", orderId, text: id }));
}

function callsOf(calls: Call[], name: Call["name"], outcome: Call["outcome"]): Call[] {
  return calls.filter((call) => call.name === name && call.outcome === outcome);
}

function chargeOf(calls: Call[], outcome: Call["outcome"]): Call | undefined {
  return callsOf(calls, "charge", outcome)[0];
}

function sumOf(refunds: { amount: number }[]): number {
  return refunds.reduce((sum, { amount }) => sum + amount, 0);
}

/** The first text that `check` returns. */
function findText(calls: Call[], check: (call: Call) => string | null): string | null {
  for (const call of calls) {
    const text = check(call);
    if (text !== null) return text;
  }
  return null;
}

/** Compares a payment with its transaction; an order without one of them has another difference. */
function compare(
  records: OrderRecords,
  check: (payment: FinalPayment, transaction: Transaction, records: OrderRecords) => string | null,
): string | null {
  const [payment] = records.payments;
  const [transaction] = records.transactions;
  return payment && transaction ? check(payment, transaction, records) : null;
}
