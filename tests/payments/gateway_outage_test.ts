/** Charges while the gateway is away and while it recovers: one order, one payment, one outcome. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createDatabase } from "../support/database/database.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { newKey } from "../support/idempotency.ts";
import { parsePayment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { until } from "../support/until.ts";

const databaseUrl = await createDatabase();

const CHARGE = "POST /v2/charge";
const OPEN_MS = 10_000;
const MINUTE_MS = 60_000;

interface Order {
  order_id: string;
  key: { "Idempotency-Key": string };
}

function newOrders(count: number): Order[] {
  return Array.from({ length: count }, () => ({ order_id: randomUUID(), key: newKey() }));
}

function charge({ post }: RelayedPayments, { order_id, key }: Order): Promise<Response> {
  return post("/charge/", { payment_type: "gopay", gross_amount: 1_000, order_id }, key);
}

/** The statuses of all payments with these order ids. */
async function statusesOf({ app }: RelayedPayments, orders: Order[]): Promise<string[]> {
  const ids = orders.map(({ order_id }) => order_id);
  const rows = await app.database.query((sql) =>
    sql`select transaction_status from gateway.payments where order_id = any(${ids}::text[])`
  );
  return rows.map(({ transaction_status }) => transaction_status);
}

async function eventsOf({ app }: RelayedPayments, orders: Order[]): Promise<string[]> {
  const ids = orders.map(({ order_id }) => order_id);
  const rows = await app.database.query((sql) =>
    sql`select name from gateway.events where data ->> 'order_id' = any(${ids}::text[])`
  );
  return rows.map(({ name }) => name);
}

async function assertChargedOnce(payments: RelayedPayments, orders: Order[]): Promise<void> {
  const { length } = orders;
  assert.deepEqual(await statusesOf(payments, orders), Array(length).fill("pending"));
  assert.deepEqual(await eventsOf(payments, orders), Array(length).fill("payment_received"));
  for (const { order_id } of orders) {
    assert.equal((await payments.transactions(order_id)).length, 1);
  }
}

Deno.test("charge: retried with its key through an outage, each order has one payment and no payment_failed", async () => {
  let now = 0;
  await using payments = await openRelayed({ databaseUrl, gatewayOptions: { clock: () => now } });
  const { app, relay, sandbox } = payments;
  const unanswered = newOrders(5);
  await sandbox.fault("charge", "reset", { count: 5 });
  for (const order of unanswered) assert.equal((await charge(payments, order)).status, 502);
  assert.equal(app.gateway.breakerState("write"), "open");

  const refused = newOrders(5);
  const orders = [...unanswered, ...refused];
  async function chargeAll(): Promise<number[]> {
    const answers = await Promise.all(orders.map((order) => charge(payments, order)));
    return answers.map(({ status }) => status);
  }
  for (let attempt = 0; attempt < 3; attempt++) {
    assert.deepEqual(await chargeAll(), Array(10).fill(502));
    assert.equal((await statusesOf(payments, refused)).length, 0, "nothing is written");
    // The next charge probes the gateway, and the other charges arrive while it does.
    now += OPEN_MS;
    await sandbox.fault("charge", "reset");
    const probe = relay.holdNext(CHARGE);
    const probing = charge(payments, unanswered[attempt]!);
    await probe.arrived;
    const others = orders.filter((order) => order !== unanswered[attempt]);
    const answers = await Promise.all(others.map((order) => charge(payments, order)));
    assert.deepEqual(answers.map(({ status }) => status), Array(9).fill(502));
    probe.release();
    assert.equal((await probing).status, 502);
  }

  now += OPEN_MS;
  const answers = await chargeAll();
  assert.ok(answers.includes(201), "the probe succeeds");
  for (const status of await chargeAll()) assert.equal(status, 201);
  await assertChargedOnce(payments, orders);
});

Deno.test("charge: while the gateway recovers, only the charge that probes it is stored", async () => {
  let now = 0;
  await using payments = await openRelayed({ databaseUrl, gatewayOptions: { clock: () => now } });
  const { relay, sandbox } = payments;
  await sandbox.fault("charge", "reset", { count: 5 });
  for (const order of newOrders(5)) assert.equal((await charge(payments, order)).status, 502);
  now += OPEN_MS;

  const orders = newOrders(8);
  const probe = relay.holdAnswer(CHARGE);
  const refused: number[] = [];
  const answers = orders.map(async (order) => {
    const { status } = await charge(payments, order);
    if (status !== 201) refused.push(status);
  });
  await probe.arrived;
  await until("the other charges are refused", () => refused.length === 7);
  assert.deepEqual(refused, Array(7).fill(502));
  assert.equal((await statusesOf(payments, orders)).length, 1);
  probe.release();
  await Promise.all(answers);
  for (const order of orders) assert.equal((await charge(payments, order)).status, 201);
  await assertChargedOnce(payments, orders);
});

Deno.test("charge: a charge that waits for a free connection when the gateway goes away is resumed by a retry", async () => {
  let now = 0;
  const gatewayOptions = { clock: () => now, maxInFlight: 5 };
  await using payments = await openRelayed({ databaseUrl, gatewayOptions });
  const { relay, sandbox } = payments;
  const orders = newOrders(20);
  await sandbox.fault("charge", "reset", { count: 20 });
  const held = Array.from({ length: 5 }, () => relay.holdNext(CHARGE));
  const answers = orders.map((order) => charge(payments, order));
  await Promise.all(held.map(({ arrived }) => arrived));
  await until(
    "all payments are stored",
    async () => (await statusesOf(payments, orders)).length === 20,
  );
  held.forEach(({ release }) => release());
  const problems = await Promise.all(
    answers.map(async (answer) => await assertProblem(await answer, 502, "gateway_unreachable")),
  );
  const isNotSent = problems.map(({ outcome }) => outcome === "refused");
  assert.ok(isNotSent.includes(true), "some charges are not sent");
  assert.deepEqual(await eventsOf(payments, orders), []);

  await sandbox.control("faults", undefined, "DELETE");
  now += OPEN_MS;
  for (const [index, order] of orders.entries()) {
    const { id } = await parsePayment(await charge(payments, order), 201);
    assert.equal(id, problems[index]!.payment_id);
  }
  await assertChargedOnce(payments, orders);
});

Deno.test("charge: a retry with the key continues the payment that the gateway rate limited", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const [order] = newOrders(1);
  await payments.sandbox.fault("charge", "rate_limit", { count: 2 });
  const first = await assertProblem(await charge(payments, order!), 400, "gateway_rate_limited");
  assert.equal(first.outcome, "refused");
  const second = await assertProblem(await charge(payments, order!), 400, "gateway_rate_limited");
  const { id } = await parsePayment(await charge(payments, order!), 201);
  assert.deepEqual([first.payment_id, second.payment_id], [id, id]);
  await assertChargedOnce(payments, [order!]);
});

Deno.test("charge: a payment does not fail in an outage of 20 minutes if its charge is retried", async () => {
  let now = Date.now();
  const clock = () => now;
  await using payments = await openRelayed({ databaseUrl, now: clock, gatewayOptions: { clock } });
  const { sandbox } = payments;
  const [order] = newOrders(1);
  await sandbox.fault("*", "reset", { count: 1_000 });
  const { payment_id } = await assertProblem(
    await charge(payments, order!),
    502,
    "gateway_unreachable",
  );
  for (let minute = 0; minute < 20; minute += 4) {
    now += 4 * MINUTE_MS;
    assert.equal((await charge(payments, order!)).status, 502);
  }
  await sandbox.control("faults", undefined, "DELETE");
  now += MINUTE_MS;
  await payments.check(payment_id!).catch((error) => assert.equal(error.name, "PostponeJob"));
  assert.deepEqual(await eventsOf(payments, [order!]), []);
  assert.equal((await charge(payments, order!)).status, 201);
  await assertChargedOnce(payments, [order!]);
});

Deno.test("expire: a retry with the key while the breaker is open does not report the sent expiry as not sent", async () => {
  // The breaker's clock stands still, so an open breaker stays open.
  await using payments = await openRelayed({ databaseUrl, gatewayOptions: { clock: () => 0 } });
  const { app, post, sandbox } = payments;
  const { id } = await payments.charge("gopay");
  const key = newKey();
  await sandbox.fault("expire", "reset");
  assert.equal((await post(`/payments/${id}/expire/`, undefined, key)).status, 502);
  await sandbox.fault("charge", "reset", { count: 4 });
  for (const order of newOrders(4)) assert.equal((await charge(payments, order)).status, 502);
  assert.equal(app.gateway.breakerState("write"), "open");

  const retry = await post(`/payments/${id}/expire/`, undefined, key);
  const retried = await assertProblem(retry, 502, "gateway_unreachable");
  assert.equal(retried.outcome, "unknown");
  assert.doesNotMatch(retried.detail!, /not sent/);
  const other = await post(`/payments/${id}/expire/`, undefined, newKey());
  const notSent = await assertProblem(other, 502, "gateway_unreachable");
  assert.equal(notSent.outcome, "refused");
  assert.match(notSent.detail!, /not sent/);
});
