/** Charges that are sent again after the database has lost their payments. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createDatabase } from "../support/database/database.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { newKey } from "../support/idempotency.ts";
import { openPayments, parsePayment, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const databaseUrl = await createDatabase();
const restoredUrl = await createDatabase();

const HOUR_MS = 3_600_000;

const CHARGE = { payment_type: "gopay", gross_amount: 44_000 };

/** The service with a database that does not have the payments of `lost`. */
async function openRestored(lost: TestPayments, now?: () => number): Promise<TestPayments> {
  return await openPayments({ databaseUrl: restoredUrl, gatewayUrl: lost.sandbox.url, now });
}

async function paidOrder(payments: TestPayments): Promise<string> {
  const order_id = randomUUID();
  const { transaction_id } = await payments.charge("gopay", { ...CHARGE, order_id });
  await payments.sandbox.control(`transactions/${transaction_id}/pay`);
  return order_id;
}

async function assertExists(payments: TestPayments, answer: Response): Promise<void> {
  const problem = await assertProblem(answer, 400, "duplicate_order");
  assert.equal(problem.outcome, "refused");
  assert.match(problem.detail!, /exists at the gateway/);
  assert.doesNotMatch(problem.detail!, /new order_id/);
  assert.deepEqual(await payments.events(problem.payment_id!), []);
}

for (const hasMetadata of [true, false]) {
  const title = `${hasMetadata ? "with" : "without"} metadata in status responses`;

  Deno.test(`charge: a retry takes over the paid transaction of a lost payment, ${title}`, async () => {
    await using lost = await openPayments({ databaseUrl });
    await lost.sandbox.showMetadata(hasMetadata);
    const order_id = await paidOrder(lost);
    await using restored = await openRestored(lost);
    const key = newKey();
    const answer = await restored.post("/charge/", { ...CHARGE, order_id }, key);
    const payment = await parsePayment(answer, 201);
    assert.deepEqual([payment.order_id, payment.is_paid], [order_id, true]);
    const [transaction] = await lost.transactions(order_id);
    assert.equal(payment.transaction_id, transaction.transaction_id);
    assert.deepEqual(await restored.events(payment.id), ["payment_settled"]);
    const again = await restored.post("/charge/", { ...CHARGE, order_id }, key);
    assert.deepEqual(await parsePayment(again, 201), payment);
  });
}

Deno.test("charge: a retry takes over the pending transaction of a lost payment, which is then paid", async () => {
  await using lost = await openPayments({ databaseUrl });
  const order_id = randomUUID();
  const { va_number } = await lost.charge("bca", { order_id });
  await using restored = await openRestored(lost);
  const body = { payment_type: "bank_transfer", bank: "bca", gross_amount: 44_000, order_id };
  const payment = await parsePayment(await restored.post("/charge/", body, newKey()), 201);
  assert.deepEqual([payment.transaction_status, payment.va_number], ["pending", va_number]);
  await lost.sandbox.control(`transactions/${payment.transaction_id}/pay`);
  assert.equal((await restored.refresh(payment.id)).is_paid, true);
});

const OTHER_CHARGES: Record<string, Json> = {
  "another amount": { ...CHARGE, gross_amount: 45_000 },
  "another type": { ...CHARGE, payment_type: "shopeepay", callback_url: "https://shop.example/" },
};

for (const [difference, charge] of Object.entries(OTHER_CHARGES)) {
  Deno.test(`charge: with ${difference} than the order at the gateway, says that the order exists and creates no event`, async () => {
    await using lost = await openPayments({ databaseUrl });
    const order_id = await paidOrder(lost);
    await using restored = await openRestored(lost);
    await assertExists(
      restored,
      await restored.post("/charge/", { ...charge, order_id }, newKey()),
    );
  });
}

Deno.test("charge: does not take over a transaction that is older than a key, or without a key", async () => {
  let aheadMs = 0;
  await using lost = await openPayments({ databaseUrl });
  const order_id = await paidOrder(lost);
  await using restored = await openRestored(lost, () => Date.now() + aheadMs);
  await assertExists(restored, await restored.post("/charge/", { ...CHARGE, order_id }));
  aheadMs = 25 * HOUR_MS;
  const retry = await restored.post("/charge/", { ...CHARGE, order_id }, newKey());
  await assertExists(restored, retry);
});

Deno.test("charge: does not take over a transaction that names another payment of this database", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { sandbox } = payments;
  await sandbox.showMetadata(true);
  const { id } = await payments.charge("gopay");
  const order_id = randomUUID();
  const metadata = { payment_ref: id };
  await sandbox.charge("gopay", {
    transaction_details: { order_id, gross_amount: 44_000 },
    metadata,
  });
  await assertExists(payments, await payments.post("/charge/", { ...CHARGE, order_id }, newKey()));
});

Deno.test("charge: asks for a new order id if the order at the gateway was not paid and cannot be paid", async () => {
  await using lost = await openPayments({ databaseUrl });
  const order_id = randomUUID();
  await lost.sandbox.control("settings", { reuse_order_id_after_deny: false }, "PATCH");
  await lost.charge("gopay", { order_id });
  await lost.sandbox.control(`transactions/${order_id}/deny`);
  await using restored = await openRestored(lost);
  const body = { ...CHARGE, gross_amount: 45_000, order_id };
  const answer = await restored.post("/charge/", body, newKey());
  const problem = await assertProblem(answer, 400, "duplicate_order");
  assert.match(problem.detail!, /Send a new order_id/);
  assert.deepEqual(await restored.events(problem.payment_id!), ["payment_failed"]);
});
