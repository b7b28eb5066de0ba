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

/** The gateway refuses it outright. */
const REFUSED = { custom_expiry: { expiry_duration: 1, unit: "second" } };

async function assertTaken(response: Response, orderId: string): Promise<void> {
  const problem = await assertProblem(response, 400, "duplicate_order");
  assert.deepEqual([problem.order_id, problem.outcome], [orderId, "refused"]);
}

Deno.test("an order id that is made up is the payment's own", async () => {
  await using payments = await openPayments({ databaseUrl });
  const payment = await payments.charge("gopay");
  assert.equal(payment.order_id, `${payment.id}-p`);
});

Deno.test("an order id is taken by a payment, for everybody, and nothing is sent", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { app, post, relay } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const orderId = randomUUID();
  await payments.charge("gopay", { order_id: orderId });
  for (const key of [payments.key, bob]) {
    await assertTaken(await post("/charge/", chargeOf(orderId), {}, key), orderId);
  }
  assert.equal(relay.times("POST /v2/charge"), 1);
  const bobs = await payments.get("/payments/", bob);
  assert.deepEqual(await bobs.json(), [], "nor is anything written");
});

Deno.test("an order id that is taken at the gateway is a failure here", async () => {
  await using payments = await openPayments({ databaseUrl });
  const orderId = randomUUID();
  await payments.sandbox.charge("bca", { transaction_details: { order_id: orderId } });
  const answer = await payments.post("/charge/", chargeOf(orderId));
  const { payment_id } = await answer.clone().json();
  await assertTaken(answer, orderId);
  const payment = await payments.read(payment_id);
  assert.equal(payment.transaction_status, "failure");
  assert.equal(payment.status_code, "406");
});

Deno.test("of 30 who charge an order at once one does", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const orderId = randomUUID();
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => payments.post("/charge/", chargeOf(orderId))),
  );
  const made = answers.filter(({ status }) => status === 201);
  assert.equal(made.length, 1);
  for (const each of answers) if (each !== made[0]) await assertTaken(each, orderId);
  assert.equal(payments.relay.times("POST /v2/charge"), 1);
});

Deno.test("a failure sets an order id free, for the same caller alone", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app, post } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  const orderId = randomUUID();
  const refused = await post("/charge/", chargeOf(orderId, REFUSED));
  const first = await assertProblem(refused, 400, "gateway_validation");
  for (const key of [bob, staff]) {
    await assertTaken(await post("/charge/", chargeOf(orderId), {}, key), orderId);
  }
  const payment = await parsePayment(await post("/charge/", chargeOf(orderId)), 201);
  assert.notEqual(payment.id, first.payment_id);
  assert.equal((await payments.read(first.payment_id!)).transaction_status, "failure");
  // And now it is taken again.
  await assertTaken(await post("/charge/", chargeOf(orderId)), orderId);
});

Deno.test("of 30 who use an order id anew that a failure set free, one does", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post, relay } = payments;
  const orderId = randomUUID();
  assert.equal((await post("/charge/", chargeOf(orderId, REFUSED))).status, 400);
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => post("/charge/", chargeOf(orderId))),
  );
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  assert.equal(relay.times("POST /v2/charge"), 2);
  assert.equal((await payments.transactions(orderId)).length, 1);
});

Deno.test("a charge that was given up sets its order id free; an unknown one does not", async () => {
  let now = Date.now();
  await using payments = await openPayments({ databaseUrl, now: () => now });
  const { post, sandbox } = payments;
  const orderId = randomUUID();
  await sandbox.fault("charge", "reset");
  const { payment_id } = await (await post("/charge/", chargeOf(orderId))).json();
  await assertTaken(await post("/charge/", chargeOf(orderId)), orderId);
  now += 16 * 60_000;
  await payments.check(payment_id);
  const payment = await parsePayment(await post("/charge/", chargeOf(orderId)), 201);
  assert.notEqual(payment.id, payment_id);
  // The one that was given up does not take the other's transaction for its own.
  assert.equal((await payments.refresh(payment_id)).transaction_status, "failure");
  await sandbox.control(`transactions/${orderId}/pay`);
  assert.equal((await payments.refresh(payment_id)).is_paid, false);
  assert.equal((await payments.refresh(payment.id)).is_paid, true);
});

/** Ends after which the gateway itself would let an order be charged again. */
const ENDS: Record<string, (payments: TestPayments, orderId: string) => Promise<unknown>> = {
  deny: ({ sandbox }, orderId) => sandbox.control(`transactions/${orderId}/deny`),
  expire: ({ sandbox }, orderId) => sandbox.control(`transactions/${orderId}/expire`),
  cancel: ({ sandbox }, orderId) => sandbox.post(`/v2/${orderId}/cancel`),
};

for (const [status, end] of Object.entries(ENDS)) {
  Deno.test(`${status} does not set an order id free`, async () => {
    await using payments = await openPayments({ databaseUrl });
    const { post, sandbox } = payments;
    await sandbox.control("settings", { reuse_order_id_after_deny: true }, "PATCH");
    const orderId = randomUUID();
    const { id } = await payments.charge("gopay", { order_id: orderId });
    await end(payments, orderId);
    assert.equal((await payments.refresh(id)).transaction_status, status);
    await assertTaken(await post("/charge/", chargeOf(orderId)), orderId);
    assert.equal((await payments.transactions(orderId)).length, 1);
  });
}
