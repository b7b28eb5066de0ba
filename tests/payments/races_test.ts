import assert from "node:assert/strict";
import { createDatabase } from "../support/database/database.ts";
import { newKey } from "../support/idempotency.ts";
import { parsePayment, type Payment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { REFUND, refund } from "../support/payments/refunds.ts";
import { until } from "../support/until.ts";

const databaseUrl = await createDatabase();

const ROUNDS = 8;

/**
 * Fails unless the refreshed payment equals the gateway's transaction, its history has no gaps and
 * its events have no duplicates. Returns the status.
 */
async function assertConverges(payments: RelayedPayments, id: string): Promise<string> {
  const refreshed = await payments.refresh(id);
  const transaction = await payments.sandbox.status(refreshed.transaction_id!);
  assert.equal(refreshed.transaction_status, transaction.transaction_status);
  assert.equal(refreshed.refund_amount, transaction.refund_amount ?? "0.00");
  const transitions = await payments.transitions(id);
  const steps = transitions.map((each) => each.split(" ")[0]!.split(">"));
  for (const [index, [from]] of steps.entries()) {
    assert.equal(from, steps[index - 1]?.[1] ?? "", `${transitions}`);
  }
  const events = await payments.events(id);
  assert.equal(new Set(events).size, events.length, `${events}`);
  const [{ count }] = await payments.app.database.query((sql) =>
    sql<[{ count: number }]>`
      select count(*)::int from gateway.events
      where resource_id = ${id} and name = 'payment_settled'`
  );
  assert.ok(count <= 1);
  return refreshed.transaction_status;
}

Deno.test("races: concurrent cancel, expire, checks and payment end in the gateway's state", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post, sandbox } = payments;
  for (let round = 0; round < ROUNDS; round++) {
    const { id, transaction_id } = await payments.charge("gopay");
    const actions = [
      () => post(`/payments/${id}/cancel/`),
      () => post(`/payments/${id}/expire/`),
      () => payments.refresh(id),
      () => payments.check(id),
      // The customer's payment goes directly to the sandbox and would always win, so only odd
      // rounds include it.
      ...round % 2
        ? [() => sandbox.call("POST", `/_sandbox/transactions/${transaction_id}/pay`)]
        : [],
    ];
    // Each round starts with another action.
    const order = actions.map((_, index) => actions[(index + round) % actions.length]!);
    await Promise.all(order.map((run) => run()));
    await assertConverges(payments, id);
  }
});

for (const action of ["cancel", "expire"] as const) {
  Deno.test(`races: ${action} is rejected if the customer pays before the gateway receives the request`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const { post, relay, sandbox } = payments;
    const { id, transaction_id } = await payments.charge("gopay");
    const held = relay.holdNext(`POST /v2/:id/${action}`);
    const acting = post(`/payments/${id}/${action}/`);
    await held.arrived;
    await sandbox.control(`transactions/${transaction_id}/pay`);
    held.release();
    const problem = await assertProblem(await acting, 400, "invalid_state");
    assert.equal(problem.transaction_status, "settlement");
    assert.deepEqual([problem.payment_id, problem.outcome], [id, "refused"]);
    assert.equal((await payments.read(id)).is_paid, true);
    assert.equal(await assertConverges(payments, id), "settlement");
  });

  Deno.test(`races: ${action} succeeds if a status check sees the new state before the response arrives`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const { post, relay } = payments;
    const { id } = await payments.charge("gopay");
    const held = relay.holdAnswer(`POST /v2/:id/${action}`);
    const acting = post(`/payments/${id}/${action}/`);
    await held.arrived;
    assert.equal((await payments.refresh(id)).transaction_status, action);
    held.release();
    assert.equal((await parsePayment(await acting, 200)).transaction_status, action);
    assert.equal(await assertConverges(payments, id), action);
  });
}

Deno.test("races: concurrent captures and a cancel of an authorization end in one consistent state", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post } = payments;
  for (let round = 0; round < ROUNDS; round++) {
    const { id } = await payments.charge("card_auth");
    const answers = await Promise.all([
      post(`/payments/${id}/capture/`, { amount: 40_000 }),
      post(`/payments/${id}/cancel/`),
      post(`/payments/${id}/capture/`, { amount: 30_000 }),
    ]);
    const replies = await Promise.all(
      answers.map(async (each) => [each.status, await each.json()]),
    );
    const status = await assertConverges(payments, id);
    const payment = await payments.read(id);
    // A captured payment can still be cancelled, so a capture and then the cancel may both succeed.
    assert.ok(["capture", "cancel"].includes(status));
    for (const [httpStatus, body] of replies) {
      if (httpStatus === 200) continue;
      assert.equal(httpStatus, 400, JSON.stringify(body));
      assert.equal(body.code, "invalid_state");
    }
    const captures = [replies[0]!, replies[2]!].filter(([httpStatus]) => httpStatus === 200);
    assert.ok(captures.length <= 1);
    if (status === "capture") {
      assert.equal(captures[0]![1].captured_amount, payment.captured_amount);
    }
  }
});

/** Captures 30,000 when the gateway has captured 40,000 and the first request still waits. */
async function assertSecondCaptureRefused(
  payments: RelayedPayments,
  { id, transaction_id }: Payment,
): Promise<void> {
  await until(
    "the first amount is captured",
    async () => (await payments.sandbox.status(transaction_id!)).transaction_status === "capture",
  );
  const key = newKey();
  const second = () => payments.post(`/payments/${id}/capture/`, { amount: 30_000 }, key);
  const problem = await assertProblem(await second(), 400, "invalid_state");
  assert.deepEqual([problem.outcome, problem.transaction_status], ["refused", "capture"]);
  assert.equal((await payments.read(id)).captured_amount, "40000.00");
  const repeated = await second();
  assert.equal(repeated.headers.get("Idempotency-Replayed"), "true");
  await assertProblem(repeated, 400, "invalid_state");
}

async function assertFirstCaptured(payments: RelayedPayments, id: string, answer: Response) {
  assert.equal((await parsePayment(answer, 200)).captured_amount, "40000.00");
  assert.equal(await assertConverges(payments, id), "capture");
  assert.deepEqual(await payments.events(id), ["payment_received", "payment_settled"]);
}

Deno.test("races: a capture is refused if it gets the response to a capture of another amount", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const payment = await payments.charge("card_auth");
  const held = payments.relay.holdAnswer("POST /v2/capture");
  const first = payments.post(`/payments/${payment.id}/capture/`, { amount: 40_000 });
  await held.arrived;
  await assertSecondCaptureRefused(payments, payment);
  held.release();
  await assertFirstCaptured(payments, payment.id, await first);
});

Deno.test("races: a capture is refused while the gateway still answers a capture of another amount", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const payment = await payments.charge("card_auth");
  await payments.sandbox.fault("capture", "delay", { delay_ms: 3_000 });
  const first = payments.post(`/payments/${payment.id}/capture/`, { amount: 40_000 });
  await assertSecondCaptureRefused(payments, payment);
  await assertFirstCaptured(payments, payment.id, await first);
});

Deno.test("races: a capture has an unknown outcome if the gateway only says that another one is running", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { id } = await payments.charge("card_auth");
  payments.relay.intercept = async ({ method }, pass) =>
    method === "POST" ? Response.json({ status_code: "202" }, { status: 202 }) : await pass();
  const answer = await payments.post(`/payments/${id}/capture/`, { amount: 30_000 });
  assert.equal((await assertProblem(answer, 400, "gateway_error")).outcome, "unknown");
  payments.relay.intercept = (_request, pass) => pass();
  await payments.check(id);
  assert.equal((await payments.read(id)).transaction_status, "authorize");
});

Deno.test("races: a refund with 10 concurrent status checks is made once and sends one event", async () => {
  await using payments = await openRelayed({ databaseUrl });
  for (let round = 0; round < ROUNDS; round++) {
    const payment = await payments.paid("gopay");
    const { id } = payment;
    const checks = Array.from({ length: 10 }, () => payments.refresh(id));
    const [answer] = await Promise.all([refund(payments, payment, { amount: 40_000 }), ...checks]);
    assert.equal(answer.status, 200);
    assert.equal(await assertConverges(payments, id), "partial_refund");
    const { refunds } = await payments.read(id);
    assert.deepEqual(refunds.map(({ status, amount }) => [status, amount]), [[
      "succeeded",
      "40000.00",
    ]]);
  }
  assert.equal(payments.relay.times(REFUND), ROUNDS);
});

Deno.test("races: a charge with 5 concurrent status checks sends one event", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { app, post, relay } = payments;
  for (let round = 0; round < ROUNDS; round++) {
    const order_id = `race-${round}-${crypto.randomUUID()}`;
    const heldAnswer = relay.holdAnswer("POST /v2/charge");
    const charging = post("/charge/", {
      payment_type: "gopay",
      gross_amount: 44_000,
      order_id,
    });
    await heldAnswer.arrived;
    const [row] = await app.database.query((sql) =>
      sql`select id from gateway.payments where order_id = ${order_id}`
    );
    const { id } = row!;
    const checks = Array.from({ length: 5 }, () => payments.refresh(id));
    heldAnswer.release();
    const [answer] = await Promise.all([charging, ...checks]);
    assert.equal(answer.status, 201);
    assert.equal((await answer.json()).id, id);
    assert.equal(await assertConverges(payments, id), "pending");
    assert.deepEqual(await payments.events(id), ["payment_received"]);
  }
});
