import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { PostponeJob } from "../../core/jobs/task.ts";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import { openApp, type TestApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { pauseAfter } from "../support/database/pause_after.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { type Json, merge, SERVER_KEY } from "../support/gateway/sandbox.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import { CHARGE_KINDS, chargeRequest, parsePayment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const databaseUrl = await createDatabase();

const NOT_FOUND = { status_code: "404", status_message: "Transaction doesn't exist." };

/**
 * Sends a charge and loses its response (`answer_lost`) or the request itself (`reset`). Returns
 * the payment's id.
 */
async function chargeWithoutResponse(
  { post, sandbox }: RelayedPayments,
  fault: "answer_lost" | "reset",
  body: Json,
): Promise<string> {
  await sandbox.fault("charge", fault);
  const answer = await post("/charge/", body);
  const problem = await assertProblem(answer, 502, "gateway_unreachable");
  assert.equal(problem.outcome, "unknown");
  return problem.payment_id!;
}

/** Changes the gateway's status responses. */
function alterStatus({ relay }: RelayedPayments, alter: (answer: Json) => Json): void {
  relay.intercept = async (request, pass) => {
    const answer = await pass();
    return request.method === "GET" ? Response.json(alter(await answer.json())) : answer;
  };
}

/** The time `minutes` after the payment was created. */
async function minutesAfterCreation(
  { read }: RelayedPayments,
  id: string,
  minutes: number,
): Promise<number> {
  return Date.parse((await read(id)).created_at) + minutes * MINUTE_MS;
}

Deno.test("check_payment_status: finds a charge whose response was lost, for every payment type except DANA", async (t) => {
  await using payments = await openRelayed({ databaseUrl });
  const { sandbox } = payments;
  for (const kind of CHARGE_KINDS.filter((each) => each !== "dana")) {
    await t.step(kind, async () => {
      // Without a successful charge in between, five lost responses would open the circuit breaker.
      await payments.charge("bca");
      const order_id = randomUUID();
      const body = { ...await chargeRequest(sandbox, kind), order_id };
      const id = await chargeWithoutResponse(payments, "answer_lost", body);
      await payments.check(id);
      const found = await payments.read(id);
      const [transaction] = await payments.transactions(order_id);
      assert.equal(found.transaction_id, transaction.transaction_id);
      assert.equal(found.transaction_status, transaction.transaction_status);
      assert.equal((await payments.events(id)).length, 1);
    });
  }
});

Deno.test("check_payment_status: a charge that was paid before it was found is settled", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const order_id = randomUUID();
  const id = await chargeWithoutResponse(payments, "answer_lost", {
    payment_type: "gopay",
    gross_amount: 44_000,
    order_id,
  });
  await payments.sandbox.control(`transactions/${order_id}/pay`);
  await payments.check(id);
  const payment = await payments.read(id);
  assert.equal(payment.transaction_status, "settlement");
  assert.equal(payment.is_paid, true);
  assert.deepEqual(await payments.events(id), ["payment_settled"]);
});

/** Changes after which the transaction in a status response does not belong to the payment. */
const FOREIGN: Record<string, Json> = {
  "with the reference of another payment": { metadata: { payment_ref: randomUUID() } },
  "with a reference that is not a string": { metadata: { payment_ref: [1] } },
  "without a reference and of a smaller amount": { metadata: null, gross_amount: "43999.00" },
  "without a reference and of another type": { metadata: null, payment_type: "bank_transfer" },
  "without a reference and of an earlier time": {
    metadata: null,
    transaction_time: "2026-01-31 17:05:09",
  },
};

/** Changes that keep the payment's reference but contradict the charge. */
const CONTRADICTORY: Record<string, Json> = {
  "of a smaller amount": { gross_amount: "43999.00" },
  "of a larger amount": { gross_amount: "44001.00" },
  "of another type": { payment_type: "bank_transfer" },
  "without a status": { transaction_status: null },
};

Deno.test("check_payment_status: takes over a transaction of the same order only if it has a status and matches the charge that was sent", async (t) => {
  for (const [caseName, change] of Object.entries({ ...FOREIGN, ...CONTRADICTORY })) {
    await t.step(caseName, async () => {
      let now = Date.now();
      await using payments = await openRelayed({ databaseUrl, now: () => now });
      await payments.sandbox.showMetadata(true);
      const order_id = randomUUID();
      const id = await chargeWithoutResponse(payments, "answer_lost", {
        payment_type: "gopay",
        gross_amount: 44_000,
        order_id,
      });
      await payments.sandbox.control(`transactions/${order_id}/pay`);
      const { intercept } = payments.relay;
      alterStatus(payments, (answer) => merge(answer, change));
      const isContradictory = Object.hasOwn(CONTRADICTORY, caseName);
      await assert.rejects(payments.check(id), {
        name: isContradictory ? "GatewayAPIError" : "PostponeJob",
      });
      const waitingPayment = await payments.read(id);
      assert.deepEqual(
        [waitingPayment.transaction_status, waitingPayment.transaction_id, waitingPayment.is_paid],
        ["pending", null, false],
      );

      now = await minutesAfterCreation(payments, id, 16);
      if (isContradictory) {
        // The charge is not marked failed either: it is taken over once the response is consistent.
        await assert.rejects(payments.check(id), { name: "GatewayAPIError" });
        assert.equal((await payments.read(id)).transaction_status, "pending");
        payments.relay.intercept = intercept;
        await payments.check(id);
        assert.equal((await payments.read(id)).transaction_status, "settlement");
      } else {
        await payments.check(id);
        assert.equal((await payments.read(id)).transaction_status, "failure");
      }
    });
  }
});

Deno.test("charge: another party's paid transaction with the same order id never makes the payment paid", async (t) => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { post, sandbox } = payments;

  async function createOrderPaidByAnother(): Promise<Json> {
    const order_id = randomUUID();
    await sandbox.paid("gopay", { transaction_details: { order_id } });
    // A charge sent within 2 minutes of this transaction could match it.
    now += 3 * MINUTE_MS;
    return { payment_type: "gopay", gross_amount: 44_000, order_id };
  }

  async function assertNeverPaid(id: string, events: string[]): Promise<void> {
    for (const check of [payments.refresh, payments.check]) {
      await check(id);
      const payment = await payments.read(id);
      assert.equal(payment.transaction_status, "failure");
      assert.equal(payment.transaction_id, null);
      assert.equal(payment.is_paid, false);
    }
    assert.deepEqual(await payments.events(id), events);
  }

  await t.step("the gateway rejects the order id", async () => {
    const problem = await assertProblem(
      await post("/charge/", await createOrderPaidByAnother()),
      400,
      "duplicate_order",
    );
    assert.equal(problem.outcome, "refused");
    // The order is paid, so a receiver of events must not cancel it.
    await assertNeverPaid(problem.payment_id!, []);
  });

  await t.step("the charge did not arrive, and a task checks it", async () => {
    const id = await chargeWithoutResponse(payments, "reset", await createOrderPaidByAnother());
    await assert.rejects(payments.check(id), PostponeJob);
    now = await minutesAfterCreation(payments, id, 16);
    await payments.check(id);
    await assertNeverPaid(id, ["payment_failed"]);
  });

  await t.step("the charge did not arrive and is retried", async () => {
    const body = await createOrderPaidByAnother();
    const headers = newKey();
    await sandbox.fault("charge", "reset");
    const { payment_id } = await (await post("/charge/", body, headers)).json();
    const problem = await assertProblem(
      await post("/charge/", body, headers),
      400,
      "duplicate_order",
    );
    assert.deepEqual([problem.payment_id, problem.outcome], [payment_id, "refused"]);
    assert.equal(isReplayed(await post("/charge/", body, headers)), true);
    await assertNeverPaid(payment_id, []);
  });

  await t.step("the caller tries to cancel, expire or refund it", async () => {
    const body = await createOrderPaidByAnother();
    const id = await chargeWithoutResponse(payments, "reset", body);
    for (const action of ["cancel", "expire", "refund"]) {
      await assertProblem(await post(`/payments/${id}/${action}/`), 400, "invalid_state");
    }
    const [otherTransaction] = await payments.transactions(body.order_id);
    assert.equal(otherTransaction.transaction_status, "settlement");
  });
});

Deno.test("check_payment_status: marks a charge as failed if the gateway does not find it after 15 minutes, not earlier", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const body = { payment_type: "gopay", gross_amount: 44_000 };
  const id = await chargeWithoutResponse(payments, "reset", body);
  for (const minutes of [0, 1, 14.9]) {
    now = await minutesAfterCreation(payments, id, minutes);
    const postponed = await payments.check(id).then(() => assert.fail(), (error) => error);
    assert.ok(postponed instanceof PostponeJob);
    assert.equal(postponed.until.getTime(), await minutesAfterCreation(payments, id, 15));
    assert.equal((await payments.read(id)).transaction_status, "pending");
    assert.equal((await payments.refresh(id)).transaction_status, "pending");
  }
  now = await minutesAfterCreation(payments, id, 15);
  await payments.check(id);
  const payment = await payments.read(id);
  assert.equal(payment.transaction_status, "failure");
  assert.equal(payment.is_failed, true);
  assert.deepEqual(await payments.events(id), ["payment_failed"]);
  assert.deepEqual(
    await payments.transitions(id),
    [">pending charge", "pending>failure check_payment_status"],
  );
});

Deno.test("check_status: does not mark a charge as failed even if the gateway does not find it after an hour", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const body = { payment_type: "gopay", gross_amount: 44_000 };
  const id = await chargeWithoutResponse(payments, "reset", body);
  now += HOUR_MS;
  const answer = await (await payments.get(`/payments/${id}/check_status/`)).json();
  assert.equal(answer.gateway_response, null);
  assert.equal(answer.payment.transaction_status, "pending");
});

Deno.test("check_status: revives a charge that was paid after it was marked as failed", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const body = { payment_type: "gopay", gross_amount: 44_000, order_id: randomUUID() };
  const id = await chargeWithoutResponse(payments, "answer_lost", body);
  const { intercept } = payments.relay;
  alterStatus(payments, () => NOT_FOUND);
  now += 16 * MINUTE_MS;
  await payments.check(id);
  assert.equal((await payments.read(id)).transaction_status, "failure");
  payments.relay.intercept = intercept;
  await payments.sandbox.control(`transactions/${body.order_id}/pay`);
  assert.equal((await payments.refresh(id)).transaction_status, "settlement");
  assert.deepEqual(await payments.events(id), ["payment_failed", "payment_settled"]);
});

Deno.test("charge: a second charge of an order is rejected while the outcome of the first is unknown", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post, sandbox } = payments;
  const body = { payment_type: "gopay", gross_amount: 44_000, order_id: randomUUID() };
  const id = await chargeWithoutResponse(payments, "answer_lost", body);
  const secondCharge = await post("/charge/", body);
  await assertProblem(secondCharge, 400, "duplicate_order");
  await sandbox.control(`transactions/${body.order_id}/pay`);
  await payments.check(id);
  assert.equal((await payments.read(id)).transaction_status, "settlement");
  assert.equal((await payments.transactions(body.order_id)).length, 1);
});

Deno.test("check_payment_status: keeps the state of a known payment that the gateway does not find, and logs an error", async (t) => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { app } = payments;
  const knownPayments = {
    pending: await payments.charge("bca"),
    authorize: await payments.charge("card_auth"),
    settlement: await payments.paid("gopay"),
  };
  alterStatus(payments, () => NOT_FOUND);
  for (const [status, { id }] of Object.entries(knownPayments)) {
    await t.step(status, async () => {
      for (const delayMs of [0, 20 * MINUTE_MS, 30 * HOUR_MS]) {
        now += delayMs;
        await assert.rejects(payments.check(id), { name: "GatewayAPIError" });
        const problem = await assertProblem(
          await payments.get(`/payments/${id}/check_status/`),
          400,
          "gateway_error",
        );
        assert.equal(problem.payment_id, id);
        assert.equal((await payments.read(id)).transaction_status, status);
      }
      const alerts = app.logged().filter(({ event, payment_id }) =>
        event === "transaction_unknown_to_gateway" && payment_id === id
      );
      assert.ok(alerts.length > 0);
      assert.ok(alerts.every(({ level }) => level === "error"));
    });
  }
});

/** Runs the sweep and all due jobs for a day; returns the number of jobs run. */
async function runForADay(app: TestApp, advance: (ms: number) => void): Promise<number> {
  let runs = 0;
  for (let minute = 0; minute < 24 * 60; minute += 20) {
    advance(20 * MINUTE_MS);
    await checkPendingPayments(app.service);
    runs += await runDueJobs(app);
  }
  return runs;
}

for (
  const [caseName, gateway] of Object.entries({
    "a wrong server key": { serverKey: "SB-Mid-server-other" },
    "the key of another merchant": {},
  })
) {
  Deno.test(`check_pending_payments: payments that the gateway confirmed are unchanged after a day with ${caseName}`, async () => {
    // A sweep reads all payments, so this test needs its own database.
    const databaseUrl = await createDatabase();
    let now = Date.now();
    await using payments = await openRelayed({ databaseUrl, now: () => now });
    const { sandbox, relay } = payments;
    const knownPayments = await Promise.all(
      (["bca", "gopay", "card_auth", "qris", "dana"] as const).map((kind) => payments.charge(kind)),
    );
    // A wrong key gets 401, which proves nothing. Another merchant's key gets 404: not found.
    const isKeyRefused = "serverKey" in gateway;
    const lostId = await chargeWithoutResponse(payments, "answer_lost", {
      payment_type: "gopay",
      gross_amount: 44_000,
    });
    const before = await Promise.all(knownPayments.map(({ id }) => payments.read(id)));

    if (!isKeyRefused) alterStatus(payments, () => NOT_FOUND);
    await using misconfigured = await openApp({
      databaseUrl,
      gatewayUrl: relay.url,
      serverKey: SERVER_KEY,
      ...gateway,
      now: () => now,
    });
    const callsBefore = relay.received.length;
    const runs = await runForADay(misconfigured, (ms) => now += ms);
    assert.ok(runs > 50 && relay.received.length - callsBefore > 50, "the payments were checked");
    for (const [index, { id }] of knownPayments.entries()) {
      assert.deepEqual(
        { ...await payments.read(id), updated_at: null },
        { ...before[index], updated_at: null },
      );
    }
    assert.equal(
      (await payments.read(lostId)).transaction_status,
      isKeyRefused ? "pending" : "failure",
    );

    relay.intercept = (_, pass) => pass();
    for (const { id, transaction_id } of knownPayments) {
      const { transaction_status } = await sandbox.status(transaction_id!);
      const refreshed = await payments.refresh(id);
      assert.equal(refreshed.transaction_status, transaction_status.toLowerCase());
    }
    assert.equal((await payments.refresh(lostId)).transaction_status, "pending");
    assert.ok((await payments.read(lostId)).transaction_id);
  });
}

Deno.test("check_pending_payments: resolves charges with unknown outcome although their jobs are lost", async () => {
  const databaseUrl = await createDatabase();
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { app } = payments;
  const body = { payment_type: "gopay", gross_amount: 44_000 };
  const madeId = await chargeWithoutResponse(payments, "answer_lost", body);
  const missingId = await chargeWithoutResponse(payments, "reset", body);
  // The jobs that the charges enqueued are lost.
  await app.database.query((sql) => sql`delete from gateway.jobs`);
  for (let minute = 0; minute < 20; minute += 5) {
    now += 5 * MINUTE_MS;
    await checkPendingPayments(app.service);
    await runDueJobs(app);
  }
  const found = await payments.read(madeId);
  assert.ok(found.transaction_id);
  assert.equal(found.transaction_status, "pending");
  assert.equal((await payments.read(missingId)).transaction_status, "failure");
});

Deno.test("check_payment_status: is retried after a gateway failure", async () => {
  const databaseUrl = await createDatabase();
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { app, sandbox } = payments;
  const body = { payment_type: "gopay", gross_amount: 44_000 };
  const id = await chargeWithoutResponse(payments, "answer_lost", body);
  // One status read makes four attempts.
  await sandbox.fault("status", "error_500", { count: 4 });
  now += MINUTE_MS;
  await runDueJobs(app);
  const [job] = await jobsOf(app, id);
  assert.deepEqual([job!.status, job!.attempts], ["queued", 1]);
  now += MINUTE_MS;
  await runDueJobs(app);
  assert.equal((await jobsOf(app, id))[0]!.status, "succeeded");
  assert.ok((await payments.read(id)).transaction_id);
});

Deno.test("check_payment_status: a DANA charge, which cannot be found by order id, is marked as failed after 25 hours", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const body = { payment_type: "dana", gross_amount: 44_000 };
  const id = await chargeWithoutResponse(payments, "answer_lost", body);
  for (const hours of [0.5, 12, 24]) {
    now = await minutesAfterCreation(payments, id, hours * 60);
    await assert.rejects(payments.check(id), PostponeJob);
    assert.equal((await payments.read(id)).transaction_status, "pending");
  }
  now = await minutesAfterCreation(payments, id, 26 * 60);
  await payments.check(id);
  assert.equal((await payments.read(id)).transaction_status, "failure");
});

Deno.test("charge: a DANA retry with the same key succeeds within 5 minutes and has an unknown outcome later", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post, sandbox } = payments;
  for (const isLater of [false, true]) {
    const body = { payment_type: "dana", gross_amount: 44_000, order_id: randomUUID() };
    const headers = newKey();
    await sandbox.fault("charge", "answer_lost");
    const { payment_id } = await (await post("/charge/", body, headers)).json();
    // The gateway's own idempotency key expires after 5 minutes.
    if (isLater) await sandbox.advance(301);
    const again = await post("/charge/", body, headers);
    const [transaction, ...more] = await payments.transactions(body.order_id);
    assert.deepEqual(more, []);
    if (isLater) {
      const problem = await again.json();
      assert.deepEqual([problem.payment_id, problem.outcome], [payment_id, "unknown"]);
      assert.equal((await payments.read(payment_id)).transaction_status, "pending");
    } else {
      const payment = await parsePayment(again, 201);
      assert.deepEqual([payment.id, payment.transaction_id], [
        payment_id,
        transaction.transaction_id,
      ]);
    }
  }
});

Deno.test("charge: a process that was paused for minutes does not send a charge that was given up meanwhile", async () => {
  let now = Date.now();
  const paused = pauseAfter("insert payment");
  await using payments = await openRelayed({
    databaseUrl,
    now: () => now,
    wrapDatabase: paused.wrapDatabase,
  });
  const { relay } = payments;
  const order_id = randomUUID();
  const body = { payment_type: "gopay", gross_amount: 10_000, order_id };
  const pausedCharge = payments.post("/charge/", body, newKey());
  await paused.arrived;
  now += 16 * MINUTE_MS;
  await using other = await openApp({
    databaseUrl,
    gatewayUrl: relay.url,
    serverKey: SERVER_KEY,
    now: () => now,
  });
  await checkPendingPayments(other.service);
  await runDueJobs(other);
  paused.continue();
  const problem = await assertProblem(await pausedCharge, 504, "gateway_timeout");
  assert.equal(problem.outcome, "unknown");
  assert.equal((await payments.read(problem.payment_id!)).transaction_status, "failure");
  assert.deepEqual(await payments.transactions(order_id), []);
});
