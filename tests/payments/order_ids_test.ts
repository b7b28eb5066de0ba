import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createDatabase } from "../support/database/database.ts";
import { openPayments, parsePayment, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { openRelayed } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";

const databaseUrl = await createDatabase();

const chargeOf = (order_id: string, more: Json = {}) => ({
  payment_type: "gopay",
  gross_amount: 44_000,
  order_id,
  ...more,
});

/** The gateway rejects this expiry as too short. */
const REJECTED = { custom_expiry: { expiry_duration: 1, unit: "second" } };

async function assertInUse(response: Response, orderId: string): Promise<void> {
  const problem = await assertProblem(response, 400, "duplicate_order");
  assert.deepEqual([problem.order_id, problem.outcome], [orderId, "refused"]);
}

Deno.test("order id: is generated from the payment's id by default", async () => {
  await using payments = await openPayments({ databaseUrl });
  const payment = await payments.charge("gopay");
  assert.equal(payment.order_id, `${payment.id}-p`);
});

Deno.test("order id: is rejected for every caller if it is in use, and nothing is stored or sent", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { app, post, relay } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const orderId = randomUUID();
  await payments.charge("gopay", { order_id: orderId });
  for (const key of [payments.key, bob]) {
    await assertInUse(await post("/charge/", chargeOf(orderId), {}, key), orderId);
  }
  assert.equal(relay.times("POST /v2/charge"), 1);
  const bobsList = await payments.get("/payments/", bob);
  assert.deepEqual(await bobsList.json(), [], "nothing is stored");
});

Deno.test("order id: if it is in use at the gateway, the payment fails", async () => {
  await using payments = await openPayments({ databaseUrl });
  const orderId = randomUUID();
  await payments.sandbox.charge("bca", { transaction_details: { order_id: orderId } });
  const answer = await payments.post("/charge/", chargeOf(orderId));
  const { payment_id } = await answer.clone().json();
  await assertInUse(answer, orderId);
  const payment = await payments.read(payment_id);
  assert.equal(payment.transaction_status, "failure");
  assert.equal(payment.status_code, "406");
});

Deno.test("order id: of 30 concurrent charges with the same order id one succeeds", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const orderId = randomUUID();
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => payments.post("/charge/", chargeOf(orderId))),
  );
  const succeeded = answers.filter(({ status }) => status === 201);
  assert.equal(succeeded.length, 1);
  for (const each of answers) if (each !== succeeded[0]) await assertInUse(each, orderId);
  assert.equal(payments.relay.times("POST /v2/charge"), 1);
});

Deno.test("order id: is free again after a failed charge, for the same caller only", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app, post } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  const orderId = randomUUID();
  const rejected = await post("/charge/", chargeOf(orderId, REJECTED));
  const firstProblem = await assertProblem(rejected, 400, "gateway_validation");
  for (const key of [bob, staff]) {
    await assertInUse(await post("/charge/", chargeOf(orderId), {}, key), orderId);
  }
  const payment = await parsePayment(await post("/charge/", chargeOf(orderId)), 201);
  assert.notEqual(payment.id, firstProblem.payment_id);
  assert.equal((await payments.read(firstProblem.payment_id!)).transaction_status, "failure");
  // The order id is in use again, by the successful charge.
  await assertInUse(await post("/charge/", chargeOf(orderId)), orderId);
});

Deno.test("order id: of 30 concurrent charges after a failed one, one succeeds", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post, relay } = payments;
  const orderId = randomUUID();
  assert.equal((await post("/charge/", chargeOf(orderId, REJECTED))).status, 400);
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => post("/charge/", chargeOf(orderId))),
  );
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  assert.equal(relay.times("POST /v2/charge"), 2);
  assert.equal((await payments.transactions(orderId)).length, 1);
});

Deno.test("order id: is free after a charge was marked as failed, but not while the outcome is unknown", async () => {
  let now = Date.now();
  await using payments = await openPayments({ databaseUrl, now: () => now });
  const { post, sandbox } = payments;
  const orderId = randomUUID();
  await sandbox.fault("charge", "reset");
  const { payment_id } = await (await post("/charge/", chargeOf(orderId))).json();
  await assertInUse(await post("/charge/", chargeOf(orderId)), orderId);
  now += 16 * 60_000;
  await payments.check(payment_id);
  const payment = await parsePayment(await post("/charge/", chargeOf(orderId)), 201);
  assert.notEqual(payment.id, payment_id);
  // The failed payment does not take over the other payment's transaction.
  assert.equal((await payments.refresh(payment_id)).transaction_status, "failure");
  await sandbox.control(`transactions/${orderId}/pay`);
  assert.equal((await payments.refresh(payment_id)).is_paid, false);
  assert.equal((await payments.refresh(payment.id)).is_paid, true);
});

/** Changes after which the gateway itself accepts the order id again, by the resulting state. */
const FINAL_CHANGES: Record<string, (payments: TestPayments, orderId: string) => Promise<unknown>> =
  {
    deny: ({ sandbox }, orderId) => sandbox.control(`transactions/${orderId}/deny`),
    expire: ({ sandbox }, orderId) => sandbox.control(`transactions/${orderId}/expire`),
    cancel: ({ sandbox }, orderId) => sandbox.post(`/v2/${orderId}/cancel`),
  };

for (const [status, endPayment] of Object.entries(FINAL_CHANGES)) {
  Deno.test(`order id: stays in use after ${status}`, async () => {
    await using payments = await openPayments({ databaseUrl });
    const { post, sandbox } = payments;
    await sandbox.control("settings", { reuse_order_id_after_deny: true }, "PATCH");
    const orderId = randomUUID();
    const { id } = await payments.charge("gopay", { order_id: orderId });
    await endPayment(payments, orderId);
    assert.equal((await payments.refresh(id)).transaction_status, status);
    await assertInUse(await post("/charge/", chargeOf(orderId)), orderId);
    assert.equal((await payments.transactions(orderId)).length, 1);
  });
}
