import assert from "node:assert/strict";
import type { AcceptedNotification } from "../../proofs/chaos/courier.ts";
import { findUnchecked } from "../../proofs/chaos/end.ts";
import { createServiceFindings } from "../../proofs/chaos/service_findings.ts";
import type { FinalPayment } from "../../proofs/chaos/history.ts";
import { findUnstoredNotifications } from "../../proofs/chaos/unstored_notifications.ts";
import { createLineReader } from "../../proofs/log_lines.ts";

const PAYMENT: FinalPayment = {
  id: "payment",
  orderId: "order",
  transactionId: "transaction",
  status: "settlement",
  grossAmount: 10_000,
  capturedAmount: 10_000,
  refundedAmount: 0,
  refunds: [],
};

const REFUND = { id: "refund", key: "key", amount: 10_000, status: "succeeded" };

function notification(status: string, refundKeys: string[] = []): AcceptedNotification {
  return { orderId: "order", transactionId: "transaction", status, refundKeys };
}

Deno.test("chaos: a payment in the notified state or a later one has stored the notification", () => {
  const notifications = [notification("pending"), notification("settlement")];
  assert.deepEqual(findUnstoredNotifications(notifications, [PAYMENT]), []);
  const refunded = { ...PAYMENT, status: "refund", refunds: [REFUND] };
  const ofRefund = [...notifications, notification("refund", ["key"])];
  assert.deepEqual(findUnstoredNotifications(ofRefund, [refunded]), []);
});

const UNSTORED: [name: string, AcceptedNotification, FinalPayment][] = [
  ["a payment", notification("settlement"), { ...PAYMENT, status: "pending" }],
  ["a denial", notification("deny"), { ...PAYMENT, status: "pending" }],
  ["a refund", notification("partial_refund", ["key"]), {
    ...PAYMENT,
    status: "partial_refund",
    refunds: [{ ...REFUND, status: "pending" }],
  }],
  ["a transaction", notification("pending"), { ...PAYMENT, transactionId: null }],
];

for (const [name, accepted, payment] of UNSTORED) {
  Deno.test(`chaos: finds ${name} that was notified and is not stored`, () => {
    const found = findUnstoredNotifications([accepted], [payment]);
    assert.deepEqual(found.map(({ rule, orderId }) => [rule, orderId]), [
      ["a notification that was answered with 200 is stored", "order"],
    ]);
  });
}

Deno.test("chaos: finds a charge whose outcome the service has not found in half an hour", () => {
  const charge = (minute: string, more = {}) => ({
    order_id: `order-${minute}`,
    transaction_id: null,
    transaction_status: "pending",
    created_at: `2026-03-01T00:${minute}:00.000Z`,
    ...more,
  });
  const payments = [
    charge("00"),
    charge("01", { transaction_id: "transaction" }),
    charge("02", { transaction_status: "failure" }),
    charge("11"),
  ];
  const found = findUnchecked(payments, Date.parse("2026-03-01T00:40:00.000Z"));
  assert.deepEqual(found.map(({ orderId }) => orderId), ["order-00"]);
});

function errorLine(event: string, error: unknown): string {
  return JSON.stringify({ time: "", level: "error", event, error });
}

const NO_DATABASE = {
  name: "DatabaseUnavailable",
  cause: { name: "PostgresError", code: "57P03" },
};

Deno.test("chaos: expects errors of the database and of the gateway, and only those", () => {
  const findings = createServiceFindings();
  const read = createLineReader(findings.onLine);
  const expected = [
    errorLine("queue_interrupted", NO_DATABASE),
    errorLine("gateway_error", { name: "ServiceError", cause: { name: "GatewayAPIError" } }),
    errorLine("gateway_unreachable", { name: "ServiceError", code: "gateway_unreachable" }),
    JSON.stringify({ level: "error", event: "gateway_error", repeated: 3 }),
    JSON.stringify({ level: "info", event: "request", status: 500 }),
  ];
  for (const line of expected) read(line + "\n");
  assert.deepEqual(findings.differences(), []);
  const unexpected = [
    errorLine("internal_error", NO_DATABASE),
    errorLine("queue_interrupted", { name: "TypeError" }),
    errorLine("queue_interrupted", { name: "TypeError" }),
  ].join("\n") + "\n";
  // The output arrives in parts.
  read(unexpected.slice(0, 50));
  read(unexpected.slice(50));
  assert.deepEqual(findings.differences().map(({ text }) => text.split(":")[0]), [
    "internal_error, 1 times",
    "queue_interrupted, 2 times",
  ]);
});

Deno.test("chaos: reports a service that ends by itself, unless the database was down at its start", () => {
  const findings = createServiceFindings();
  const output = errorLine("start_failed", NO_DATABASE);
  findings.onOwnEnd({ code: 1, wasReady: false, output });
  assert.equal(findings.failedStarts, 1);
  assert.deepEqual(findings.differences(), []);
  findings.onOwnEnd({ code: 1, wasReady: false, output: "error: Module not found" });
  findings.onOwnEnd({ code: 139, wasReady: true, output });
  assert.deepEqual(findings.differences().map(({ text }) => text.split(":")[0]), [
    "code 1 during its start",
    "code 139 while it served requests",
  ]);
  assert.equal(findings.failedStarts, 1);
});
