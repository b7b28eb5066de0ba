/** Answers that must not be, and answers that no order explains. */

import { type Fault, moveBetween, refuse, remove, show } from "./doctored.ts";

const ORDER = "the answers have an order that explains them";

export const ANSWER_FAULTS: Fault[] = [
  // Answers
  {
    name: "a repeated charge names another payment",
    rules: ["every answer is about the order", "the repeat of a done call gets the same answer"],
    doctor(h) {
      h.callOf("paid", "charge").answers[1]!.payment!.id = "another";
    },
  },
  {
    name: "a repeated charge has a newer state",
    rules: ["the repeat of a done call gets the same answer"],
    doctor(h) {
      h.callOf("settled", "charge").answers[1]!.payment!.status = "settlement";
    },
  },
  {
    name: "a repeated call is refused because its key is in use",
    rules: ["the repeat of a done call gets the same answer"],
    doctor(h) {
      Object.assign(h.callOf("paid", "charge").answers[1]!, {
        status: 422,
        code: "idempotency_key_reused",
        payment: null,
      });
    },
  },
  {
    name: "an answer is about another order",
    rules: ["every answer is about the order"],
    doctor(h) {
      h.callOf("settled", "read").answers[0]!.payment!.orderId = "unpaid";
    },
  },
  {
    name: "an answer is about another payment",
    rules: ["every answer is about the order"],
    doctor(h) {
      h.callOf("unpaid", "read").answers[0]!.payment!.id = "payment-paid";
    },
  },
  {
    name: "the service has an internal error",
    rules: ["the service does not fail"],
    doctor(h) {
      const { answers } = h.callOf("paid", "read");
      answers.unshift({
        ...answers[0]!,
        at: 1,
        status: 500,
        code: "internal_error",
        payment: null,
      });
    },
  },
  {
    name: "a call has no outcome although the merchant repeated it",
    rules: ["every call has an outcome, unless the merchant crashed"],
    doctor(h) {
      h.callOf("abandoned", "charge").hasCrashed = false;
    },
  },
  {
    name: "a read is refused",
    rules: ["a refusal has a code that is possible"],
    doctor(h) {
      refuse(h.callOf("unpaid", "read"), 404, "not_found");
    },
  },
  {
    name: "a read shows no payment",
    rules: ["the answer to a done call shows what it changed"],
    doctor(h) {
      h.callOf("unpaid", "read").answers[0]!.payment = null;
    },
  },
  {
    name: "a check is refused because the key is invalid",
    rules: ["a refusal has a code that is possible"],
    doctor(h) {
      refuse(h.callOf("declined", "check"), 401, "unauthenticated");
    },
  },
  {
    name: "a refund is refused because its key was used",
    rules: ["a refusal has a code that is possible"],
    doctor(h) {
      refuse(h.callOf("refunded", "refund", 2), 422, "idempotency_key_reused");
    },
  },
  {
    name: "a cancellation is refused because of an invalid amount",
    rules: ["a refusal has a code that is possible"],
    doctor(h) {
      refuse(h.callOf("settled", "cancel"), 400, "validation_error");
    },
  },
  {
    name: "a capture is refused as not found",
    rules: ["a refusal has a code that is possible"],
    doctor(h) {
      refuse(h.callOf("cancelled", "capture"), 404, "not_found");
    },
  },
  // States
  {
    name: "the service did not learn of a payment",
    rules: [
      "payment and transaction have the same status",
      "the last event has the payment's state",
      "the last event says what happened last",
    ],
    doctor(h) {
      h.paymentOf("settled").status = "pending";
    },
  },
  {
    name: "a forged notification settled a payment",
    rules: [
      "a payment has one payment_settled event if it was paid, otherwise none",
      "payment and transaction have the same status",
      "the last event has the payment's state",
      "the last event says what happened last",
    ],
    doctor(h) {
      h.paymentOf("unpaid").status = "settlement";
    },
  },
  {
    name: "a cancelled payment is paid",
    rules: [
      "a captured amount is what the gateway took",
      "an acknowledged cancellation is in the books",
      "payment and transaction have the same status",
    ],
    doctor(h) {
      h.transactionOf("cancelled").status = "capture";
    },
  },
  {
    name: "a read shows a payment as paid before it was",
    rules: ["a payment has one payment_settled event if it was paid, otherwise none", ORDER],
    doctor(h) {
      show(h.callOf("unpaid", "read"), { status: "settlement", capturedAmount: 50_000 });
    },
  },
  {
    name: "a read shows an older state than the read before",
    rules: [ORDER],
    doctor(h) {
      show(h.callOf("refunded", "read", 2), { status: "settlement", refundedAmount: 0 });
    },
  },
  {
    name: "a read does not show an acknowledged refund",
    rules: [ORDER],
    doctor(h) {
      show(h.callOf("refunded", "read", 1), { status: "settlement", refundedAmount: 0 });
    },
  },
  {
    name: "a read does not show an acknowledged capture",
    rules: [ORDER],
    doctor(h) {
      show(h.callOf("captured", "read"), { status: "authorize", capturedAmount: null });
    },
  },
  {
    name: "a read shows another captured amount",
    rules: [ORDER],
    doctor(h) {
      show(h.callOf("captured", "read"), { capturedAmount: 50_000 });
    },
  },
  {
    name: "a read does not show an acknowledged cancellation",
    rules: [ORDER],
    doctor(h) {
      show(h.callOf("cancelled", "read"), { status: "authorize" });
    },
  },
  {
    name: "a denied card is shown as paid",
    rules: ["a payment has one payment_settled event if it was paid, otherwise none", ORDER],
    doctor(h) {
      show(h.callOf("denied", "read"), { status: "capture", capturedAmount: 50_000 });
    },
  },
  {
    name: "a charge is acknowledged as paid before the customer pays",
    rules: [ORDER],
    doctor(h) {
      show(h.callOf("settled", "charge"), { status: "settlement", capturedAmount: 50_000 });
    },
  },
  {
    name: "a pending payment is expired although its time is not over",
    rules: [ORDER],
    doctor(h) {
      show(h.callOf("unpaid", "read"), { status: "expire" });
    },
  },
  {
    name: "a payment that can live for a day is expired",
    rules: [ORDER],
    doctor(h) {
      h.orders.find(({ orderId }) => orderId === "expired")!.lifeMs = 24 * 60 * 60_000;
    },
  },
  {
    name: "an acknowledged charge is marked as failed",
    rules: [
      "payment and transaction have the same status",
      ORDER,
      "the last event has the payment's state",
      "the last event says what happened last",
    ],
    doctor(h) {
      Object.assign(h.paymentOf("expired"), { status: "failure" });
      show(h.callOf("expired", "read", 1), { status: "failure" });
    },
  },
  {
    name: "a charge without an outcome is marked as failed too early",
    rules: [ORDER],
    doctor(h) {
      const [before, after] = [0, 1].map((index) => h.callOf("lost", "check", index));
      after!.startedAt = before!.endedAt! + 1;
      after!.endedAt = after!.answers[0]!.at = before!.endedAt! + 60_000;
    },
  },
  {
    name: "a payment that can be cancelled is refused as not cancellable",
    rules: [ORDER],
    doctor(h) {
      remove(h.acts, h.acts.find(({ orderId }) => orderId === "settled")!);
      show(h.callOf("settled", "read"), { status: "pending", capturedAmount: null });
    },
  },
  {
    name: "a refund is refused although enough is left",
    rules: [ORDER],
    doctor(h) {
      moveBetween(
        h.callOf("refunded", "refund", 2),
        h.callOf("refunded", "read"),
        h.callOf("refunded", "refund"),
      );
    },
  },
  {
    name: "a held payment cannot be captured",
    rules: [ORDER],
    doctor(h) {
      moveBetween(
        h.callOf("cancelled", "capture"),
        h.callOf("cancelled", "charge"),
        h.callOf("cancelled", "cancel"),
      );
    },
  },
];
