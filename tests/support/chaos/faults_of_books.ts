/** What the service says or stores differs from what the gateway did. */

import { type Fault, refuse, remove, show } from "./doctored.ts";

const ORDER = "the answers have an order that explains them";

export const BOOK_FAULTS: Fault[] = [
  // Charges
  {
    name: "an order is charged twice at the gateway",
    rules: [
      "a transaction has the payment that charged it",
      "an order has one transaction at most",
    ],
    doctor(h) {
      h.transactions.push({ ...h.transactionOf("unpaid"), id: "another" });
    },
  },
  {
    name: "an order has two payments",
    rules: [
      "a payment has one payment_settled event if it was paid, otherwise none",
      "an order has one payment at most",
      "the last event says what happened last",
    ],
    doctor(h) {
      h.payments.push({ ...h.paymentOf("paid"), id: "another" });
    },
  },
  {
    name: "an acknowledged payment is lost",
    rules: [
      "a transaction has the payment that charged it",
      "an acknowledged charge is stored",
      "an event is about a payment of the run",
      "every answer is about the order",
    ],
    doctor(h) {
      remove(h.payments, h.paymentOf("paid"));
    },
  },
  {
    name: "the answer names a transaction that does not exist",
    rules: ["an acknowledged charge has the transaction that its answer names"],
    doctor(h) {
      show(h.callOf("unpaid", "charge"), { transactionId: "another" });
    },
  },
  {
    name: "an acknowledged charge was never made",
    rules: [
      "a payment without a transaction is not paid",
      "an acknowledged charge has the transaction that its answer names",
    ],
    doctor(h) {
      remove(h.transactions, h.transactionOf("paid"));
    },
  },
  {
    name: "a charge is refused",
    rules: ["a refusal has a code that is possible"],
    doctor(h) {
      refuse(h.callOf("lost", "charge"), 400, "gateway_validation");
    },
  },
  {
    name: "a refused charge was made",
    rules: ["a refusal has a code that is possible", "a refused charge has no transaction"],
    doctor(h) {
      refuse(h.callOf("unpaid", "charge"), 400, "duplicate_order");
    },
  },
  {
    name: "a payment without a transaction is paid",
    rules: [
      "a payment has one payment_settled event if it was paid, otherwise none",
      "a payment without a transaction is not paid",
      "the last event has the payment's state",
      "the last event says what happened last",
    ],
    doctor(h) {
      h.paymentOf("lost").status = "settlement";
    },
  },
  {
    name: "the service does not know a transaction",
    rules: [
      "a transaction has the payment that charged it",
      "the last event says what happened last",
    ],
    doctor(h) {
      h.paymentOf("abandoned").transactionId = null;
    },
  },
  {
    name: "a transaction belongs to another payment",
    rules: ["a transaction has the payment that charged it"],
    doctor(h) {
      h.transactionOf("settled").paymentId = h.paymentOf("unpaid").id;
    },
  },
  {
    name: "the gateway charged more",
    rules: ["payment and transaction have the same amount"],
    doctor(h) {
      h.transactionOf("unpaid").amount += 1;
    },
  },
  {
    name: "the payment has another amount",
    rules: ["payment and transaction have the same amount"],
    doctor(h) {
      h.paymentOf("captured").grossAmount = 35_000;
    },
  },
  {
    name: "an order appears that was never placed",
    rules: ["every record belongs to an order"],
    doctor(h) {
      h.payments.push({
        ...h.paymentOf("lost"),
        id: "forged",
        orderId: "forged",
        status: "pending",
      });
    },
  },
  {
    name: "a transaction appears that was never ordered",
    rules: ["every record belongs to an order"],
    doctor(h) {
      h.transactions.push({ ...h.transactionOf("unpaid"), id: "forged", orderId: "forged" });
    },
  },
  // Captures and cancellations
  {
    name: "the gateway captured another amount",
    rules: [
      "a captured amount is what the gateway took",
      "an acknowledged capture took the requested amount",
    ],
    doctor(h) {
      h.transactionOf("captured").amount = 30_000;
    },
  },
  {
    name: "more was captured than requested",
    rules: ["an acknowledged capture took the requested amount", ORDER],
    doctor(h) {
      h.callOf("captured", "capture").amount = 30_000;
    },
  },
  {
    name: "an acknowledged capture was lost",
    rules: [
      "a captured amount is what the gateway took",
      "an acknowledged capture took the requested amount",
      "payment and transaction have the same status",
    ],
    doctor(h) {
      h.transactionOf("captured").status = "authorize";
    },
  },
  {
    name: "a capture is refused although an attempt has made it",
    rules: [ORDER],
    doctor(h) {
      const capture = h.callOf("captured", "capture");
      refuse(capture, 400, "invalid_state");
      capture.answers.unshift({
        ...capture.answers[0]!,
        at: capture.startedAt,
        status: 0,
        code: null,
      });
    },
  },
  {
    name: "the answer to a capture does not show it",
    rules: [ORDER],
    doctor(h) {
      show(h.callOf("captured", "capture"), { status: "authorize", capturedAmount: null });
    },
  },
  {
    name: "an acknowledged cancellation was not made",
    rules: [
      "an acknowledged cancellation is in the books",
      "payment and transaction have the same status",
    ],
    doctor(h) {
      h.transactionOf("cancelled").status = "authorize";
    },
  },
  {
    name: "the answer to a cancellation does not show it",
    rules: [ORDER],
    doctor(h) {
      show(h.callOf("cancelled", "cancel"), { status: "authorize" });
    },
  },
  // Refunds
  {
    name: "an acknowledged refund was not made",
    rules: [
      "an acknowledged refund is in the books once",
      "payment and transaction have the same refunds",
    ],
    doctor(h) {
      h.transactionOf("refunded").refunds.pop();
    },
  },
  {
    name: "a refund was made twice",
    rules: [
      "an acknowledged refund is in the books once",
      "each refund in the books was requested",
      "payment and transaction have the same refunds",
      "refunds do not exceed what was paid",
    ],
    doctor(h) {
      const { refunds } = h.transactionOf("refunded");
      refunds.push({ ...refunds[0]! });
    },
  },
  {
    name: "more was refunded than paid",
    rules: [
      "an acknowledged refund is in the books once",
      "payment and transaction have the same refunds",
      "refunds do not exceed what was paid",
    ],
    doctor(h) {
      h.transactionOf("refunded").refunds[1]!.amount = 40_000;
    },
  },
  {
    name: "a refund appears that was not requested",
    rules: [
      "each refund in the books was requested",
      "payment and transaction have the same refunds",
    ],
    doctor(h) {
      h.transactionOf("settled").refunds.push({ key: "forged", amount: 1 });
    },
  },
  {
    name: "a refund has another amount",
    rules: [
      "an acknowledged refund has the requested amount",
      "an acknowledged refund is in the books once",
      ORDER,
    ],
    doctor(h) {
      h.callOf("refunded", "refund").answers[0]!.refund!.amount = 25_000;
    },
  },
  {
    name: "two refunds are answered with the same one",
    rules: [ORDER, "two calls are not answered with the same refund"],
    doctor(h) {
      const [first, second] = [0, 1].map((index) => h.callOf("refunded", "refund", index));
      second!.answers[0]!.refund = first!.answers[0]!.refund;
    },
  },
  {
    name: "the answer to a refund does not show it",
    rules: [ORDER],
    doctor(h) {
      show(h.callOf("refunded", "refund"), { status: "settlement", refundedAmount: 0 });
    },
  },
  {
    name: "an acknowledged refund has failed",
    rules: ["an acknowledged refund has succeeded"],
    doctor(h) {
      h.callOf("refunded", "refund").answers[0]!.refund!.status = "failed";
    },
  },
  {
    name: "the answer to a refund has no refund",
    rules: [
      "an acknowledged refund is in the books once",
      "the answer to a done call shows what it changed",
      ORDER,
    ],
    doctor(h) {
      h.callOf("refunded", "refund", 1).answers[0]!.refund = null;
    },
  },
  {
    name: "a refund of the rest leaves something",
    rules: [ORDER],
    doctor(h) {
      const payments = [h.paymentOf("rest refunded"), h.transactionOf("rest refunded")];
      for (const { refunds } of payments) refunds[1]!.amount = 29_000;
      h.paymentOf("rest refunded").refundedAmount = 49_000;
      show(h.callOf("rest refunded", "read", 1), { refundedAmount: 49_000 });
    },
  },
  {
    name: "a refund is missing in the service",
    rules: [
      "payment and transaction have the same refunds",
      "the refunds of a payment have their payment_refunded events",
    ],
    doctor(h) {
      h.paymentOf("refunded").refunds.pop();
    },
  },
  {
    name: "the refunded sum is wrong",
    rules: ["payment and transaction have the same refunds"],
    doctor(h) {
      h.paymentOf("refunded").refundedAmount = 20_000;
    },
  },
  {
    name: "a refund stays pending",
    rules: [
      "no refund is left pending",
      "payment and transaction have the same refunds",
      "the refunds of a payment have their payment_refunded events",
    ],
    doctor(h) {
      h.paymentOf("refunded").refunds[0]!.status = "pending";
    },
  },
];
