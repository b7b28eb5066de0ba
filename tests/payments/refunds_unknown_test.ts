import assert from "node:assert/strict";
import { PostponeJob } from "../../core/jobs/task.ts";
import { checkPaymentStatus } from "../../core/payments/check_payment_status.ts";
import { openApp, type TestApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { pauseAfter } from "../support/database/pause_after.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { nameOf, openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { SERVER_KEY } from "../support/gateway/sandbox.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import type { Payment } from "../support/payments/payments.ts";
import {
  assertRefundsMatchGateway,
  parseRefunded,
  REFUND,
  refund,
  refundKeysSent,
} from "../support/payments/refunds.ts";
import { assertProblem } from "../support/problem.ts";

const databaseUrl = await createDatabase();

const MINUTE_MS = 60_000;

Deno.test("refund: concurrent refunds with lost responses never exceed the payment", async () => {
  let now = Date.now();
  // An open circuit breaker would refuse some of the refunds.
  const gatewayOptions = { wait: createWaits().wait, breakers: createClosedBreakers() };
  await using payments = await openRelayed({ databaseUrl, gatewayOptions, now: () => now });
  const { sandbox } = payments;
  const payment = await payments.paid("gopay", { gross_amount: 100_000 });
  for (const fault of ["answer_lost", "reset", "error_500", "broken_json"]) {
    await sandbox.fault("refund", fault, { count: 10, rate: 0.25 });
  }
  const answers = await Promise.all(
    Array.from(
      { length: 40 },
      (_, index) => refund(payments, payment, { amount: 1_000 * (index % 7 + 1) }, newKey()),
    ),
  );
  const outcomes = await Promise.all(answers.map((each) => each.json()));
  const unknownOutcomes = outcomes.filter(({ outcome }) => outcome === "unknown");
  assert.ok(unknownOutcomes.length > 0);
  const duringFaults = await payments.read(payment.id);
  const reservedRefunds = duringFaults.refunds.filter(({ status }) => status !== "failed");
  assert.ok(reservedRefunds.reduce((sum, { amount }) => sum + Number(amount), 0) <= 100_000);

  await sandbox.control("faults", undefined, "DELETE");
  now += 2 * MINUTE_MS;
  await payments.check(payment.id);
  const after = await assertRefundsMatchGateway(payments, payment.id);
  assert.deepEqual(
    after.refunds.map(({ id, status }) => [id, status]),
    reservedRefunds.map(({ id }) => [id, "succeeded"]),
  );
  assert.ok(Number(after.refund_amount) <= 100_000);
});

function createClosedBreakers() {
  const permit = { responded() {}, failed() {}, abandoned() {}, [Symbol.dispose]() {} };
  const breaker = { state: () => "closed" as const, admit: () => permit };
  return { read: breaker, write: breaker };
}

Deno.test("refund: stays reserved after an unknown outcome and is resent with the same refund_key", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { sandbox } = payments;
  const payment = await payments.paid("gopay");
  await sandbox.fault("refund", "error_503", { count: 2 });
  const answer = await refund(payments, payment, { amount: 40_000 });
  const problem = await assertProblem(answer, 400, "gateway_error");
  assert.equal(problem.outcome, "unknown");
  const reserved = await payments.read(payment.id);
  assert.deepEqual(reserved.refunds.map(({ status }) => status), ["pending"]);
  assert.equal(reserved.refund_amount, "0.00");
  const secondRefund = await refund(payments, payment, { amount: 4_001 });
  const tooMuch = await assertProblem(secondRefund, 400, "validation_error");
  assert.match(tooMuch.errors![0]!.message, /4000/);

  // Too early: the request that created the refund may still be running.
  await assert.rejects(payments.check(payment.id), { name: "PostponeJob" });
  assert.equal(payments.relay.times(REFUND), 1);
  now += 2 * MINUTE_MS;
  await assert.rejects(payments.check(payment.id), "the gateway still fails");
  assert.equal((await payments.read(payment.id)).refunds[0]!.status, "pending");
  await payments.check(payment.id);
  assert.equal((await payments.read(payment.id)).refunds[0]!.status, "succeeded");
  const [{ refund_key }] = reserved.refunds as [Payment["refunds"][0]];
  assert.deepEqual(refundKeysSent(payments), [refund_key, refund_key, refund_key]);
  assert.equal((await assertRefundsMatchGateway(payments, payment.id)).refund_amount, "40000.00");
});

/** Another instance, whose process stops where `paused` says. */
async function openPausedApp(
  gatewayUrl: string,
  { wrapDatabase }: ReturnType<typeof pauseAfter>,
  now: () => number,
) {
  return await openApp({ databaseUrl, gatewayUrl, serverKey: SERVER_KEY, wrapDatabase, now });
}

for (const [who, isRetry] of [["process", false], ["retry", true]] as const) {
  Deno.test(`refund: a ${who} that was paused for a minute does not send a refund that failed meanwhile`, async () => {
    let now = Date.now();
    await using payments = await openRelayed({ databaseUrl, now: () => now });
    const { app, key, relay, sandbox } = payments;
    const payment = await payments.paid("gopay");
    const headers = newKey();
    if (isRetry) {
      await sandbox.fault("refund", "reset");
      assert.equal((await refund(payments, payment, { amount: 10_000 }, headers)).status, 502);
    }
    const paused = pauseAfter("write payment");
    await using pausedApp = await openPausedApp(relay.url, paused, () => now);
    const request = { ...payments, post: postTo(pausedApp, key) };
    const pausedRefund = refund(request, payment, { amount: 10_000 }, headers);
    await paused.arrived;
    now += 2 * MINUTE_MS;
    await failAndRefundAgain(payments, payment);
    const refundsSent = relay.times(REFUND);
    paused.continue();
    const problem = await assertProblem(await pausedRefund, 504, "gateway_timeout");
    assert.equal(problem.outcome, "unknown");
    assert.equal(relay.times(REFUND), refundsSent);
    await runDueJobs(app);
    const { refunds, refund_amount } = await assertRefundsMatchGateway(payments, payment.id);
    assert.deepEqual(refunds.map(({ status }) => status), ["failed", "succeeded"]);
    assert.equal(refund_amount, "10000.00");
  });
}

Deno.test("check_payment_status: a task that was paused for a minute does not send a refund that failed meanwhile", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { relay, sandbox } = payments;
  const payment = await payments.paid("gopay");
  await sandbox.fault("refund", "reset");
  assert.equal((await refund(payments, payment, { amount: 10_000 })).status, 502);
  now += 2 * MINUTE_MS;
  const paused = pauseAfter("write payment");
  await using pausedApp = await openPausedApp(relay.url, paused, () => now);
  const pausedTask = checkPaymentStatus(pausedApp.service, payment.id).catch((error) => error);
  await paused.arrived;
  now += 2 * MINUTE_MS;
  await failAndRefundAgain(payments, payment);
  const refundsSent = relay.times(REFUND);
  paused.continue();
  assert.ok(await pausedTask instanceof PostponeJob);
  assert.equal(relay.times(REFUND), refundsSent);
});

/** A task ends the pending refund, because the gateway refuses it; then another refund is made. */
async function failAndRefundAgain(payments: RelayedPayments, payment: Payment): Promise<void> {
  const { relay } = payments;
  const { intercept } = relay;
  relay.intercept = (received, pass) =>
    nameOf(received) === REFUND ? Response.json({ status_code: "414" }) : pass();
  await payments.check(payment.id);
  relay.intercept = intercept;
  await parseRefunded(await refund(payments, payment, { amount: 10_000 }));
}

/** Sends JSON to this instance. */
function postTo(app: TestApp, key: string): RelayedPayments["post"] {
  return (path, body, headers) =>
    app.as(key, path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "Content-Type": "application/json", ...headers },
    });
}

Deno.test("check_payment_status: finds a refund whose response was lost and does not resend it", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const payment = await payments.paid("gopay");
  await payments.sandbox.fault("refund", "answer_lost");
  assert.equal((await refund(payments, payment, { amount: 40_000 })).status, 502);
  now += 2 * MINUTE_MS;
  await payments.check(payment.id);
  assert.equal(payments.relay.times(REFUND), 1);
  assert.equal((await assertRefundsMatchGateway(payments, payment.id)).refund_amount, "40000.00");
  assert.deepEqual(
    (await payments.events(payment.id)).filter((name) => name === "payment_refunded").length,
    1,
  );
});

Deno.test("check_payment_status: if the gateway rejects a refund_key as a duplicate, the refund waits until the gateway lists it", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { relay, sandbox } = payments;
  const payment = await payments.paid("gopay");
  await sandbox.fault("refund", "answer_lost");
  assert.equal((await refund(payments, payment, { amount: 40_000 })).status, 502);
  // The status response is out of date, and the gateway has forgotten the idempotency key.
  await sandbox.advance(301);
  now += 2 * MINUTE_MS;
  const { intercept } = relay;
  relay.intercept = async (request, pass) => {
    const answer = await pass();
    if (request.method !== "GET") return answer;
    const { refunds: _, refund_amount: __, ...rest } = await answer.json();
    return Response.json({ ...rest, transaction_status: "settlement" });
  };
  await payments.check(payment.id);
  const after = await payments.read(payment.id);
  assert.equal(after.refunds[0]!.status, "pending");
  assert.equal(after.refund_amount, "0.00");
  assert.equal(relay.times(REFUND), 2);
  assert.deepEqual(new Set(refundKeysSent(payments)).size, 1);
  relay.intercept = intercept;
  await payments.refresh(payment.id);
  assert.equal((await payments.read(payment.id)).refund_amount, "40000.00");
  await assertRefundsMatchGateway(payments, payment.id);
});

Deno.test("check_payment_status: a refund whose acceptance by the bank was lost, and whose bank then declines it, can be marked as denied", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { relay, sandbox } = payments;
  const payment = await payments.paid("gopay");
  await sandbox.fault("refund", "bank_pending");
  relay.intercept = async (received, pass) => {
    const answer = await pass();
    if (nameOf(received) !== REFUND) return answer;
    await answer.body?.cancel();
    return new Response("<html>", { status: 502 });
  };
  const lost = await refund(payments, payment, { amount: 40_000 });
  assert.equal((await lost.json()).outcome, "unknown");
  // The gateway has forgotten the idempotency key, and knows the refund_key.
  await sandbox.advance(301);
  now += 6 * MINUTE_MS;
  // The bank has not made the refund yet.
  relay.intercept = async (received, pass) => {
    const answer = await pass();
    if (nameOf(received) === REFUND) return answer;
    const { refunds: _, refund_amount: __, ...rest } = await answer.json();
    return Response.json({ ...rest, transaction_status: "settlement" });
  };
  await payments.check(payment.id);
  const { id, status, status_code } = (await payments.read(payment.id)).refunds[0]!;
  assert.deepEqual([status, status_code], ["pending", "201"]);
  const staff = await payments.app.createKey({ userId: "ops", isStaff: true });
  const denied = await payments.post(`/refunds/${id}/mark-denied/`, undefined, {}, staff);
  assert.equal(denied.status, 200, await denied.text());
});

Deno.test("check_payment_status: if the gateway repeats its first response for a refund_key, the refund has succeeded", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { relay, sandbox } = payments;
  const payment = await payments.paid("gopay");
  await sandbox.fault("refund", "answer_lost");
  assert.equal((await refund(payments, payment, { amount: 40_000 })).status, 502);
  await sandbox.advance(301);
  now += 2 * MINUTE_MS;
  const { intercept } = relay;
  relay.intercept = async (request, pass) => {
    const { refunds: _, refund_amount: __, ...status } = await sandbox.status(payment.order_id);
    if (request.method === "GET") {
      return Response.json({ ...status, transaction_status: "settlement" });
    }
    assert.equal((await (await pass()).json()).status_code, "406");
    return Response.json({
      ...status,
      status_code: "200",
      status_message: "Success, refund request is approved",
      refund_amount: "40000.00",
      refund_key: refundKeysSent(payments)[0],
    });
  };
  await payments.check(payment.id);
  const after = await payments.read(payment.id);
  assert.deepEqual(after.refunds.map(({ status }) => status), ["succeeded"]);
  assert.equal(after.refund_amount, "40000.00");
  relay.intercept = intercept;
  await payments.refresh(payment.id);
  await assertRefundsMatchGateway(payments, payment.id);
});

Deno.test("refund: only a response about the refund itself releases the reserved amount", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { sandbox } = payments;
  const payment = await payments.paid("gopay");
  const headers = newKey();
  const send = () => refund(payments, payment, { amount: 40_000 }, headers);
  await sandbox.fault("refund", "reset");
  assert.equal((await send()).status, 502);
  // The first call may still reach the gateway, so a rejected retry proves nothing.
  await sandbox.fault("refund", "rate_limit");
  const problem = await assertProblem(await send(), 400, "gateway_rate_limited");
  assert.equal(problem.outcome, "unknown");
  await sandbox.fault("refund", "rate_limit");
  now += 2 * MINUTE_MS;
  await assert.rejects(payments.check(payment.id));
  assert.deepEqual(
    (await payments.read(payment.id)).refunds.map(({ status }) => status),
    ["pending"],
  );
  await parseRefunded(await send());
  assert.equal(new Set(refundKeysSent(payments)).size, 1);
  assert.equal((await assertRefundsMatchGateway(payments, payment.id)).refund_amount, "40000.00");
});

Deno.test("check_payment_status: a refund that the bank declines is denied and releases the reserved amount", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { sandbox } = payments;
  const payment = await payments.paid("gopay");
  await sandbox.fault("refund", "reset");
  assert.equal((await refund(payments, payment)).status, 502);
  await sandbox.fault("refund", "bank_refuses");
  now += 2 * MINUTE_MS;
  await payments.check(payment.id);
  const after = await payments.read(payment.id);
  assert.deepEqual(after.refunds.map(({ status }) => status), ["denied"]);
  assert.equal(after.transaction_status, "settlement");
  await parseRefunded(await refund(payments, payment));
});

Deno.test("refund: a retry after a timeout sends the same keys and refunds once", async () => {
  const waits = createWaits();
  await using payments = await openRelayed({
    databaseUrl,
    gatewayOptions: { wait: waits.wait },
  });
  const { relay } = payments;
  const payment = await payments.paid("gopay");
  const headers = newKey();
  const send = () => refund(payments, payment, { amount: 40_000 }, headers);
  // A slow bank: the first call arrives, but the service has stopped waiting for its response.
  const held = relay.holdNext(REFUND);
  const firstRequest = send();
  await held.arrived;
  waits.passDeadlines();
  const problem = await assertProblem(await firstRequest, 504, "gateway_timeout");
  assert.equal(problem.outcome, "unknown");
  const secondRefund = await parseRefunded(await send());
  held.release();
  const sent = relay.received.filter((each) => nameOf(each) === REFUND);
  assert.equal(sent.length, 2);
  assert.equal(sent[0]!.body, sent[1]!.body);
  for (const name of ["Idempotency-Key", "Authorization"]) {
    assert.equal(sent[0]!.headers.get(name), sent[1]!.headers.get(name));
  }
  assert.equal(secondRefund.refund.refund_key, JSON.parse(sent[0]!.body).refund_key);
  await payments.refresh(payment.id);
  assert.equal((await assertRefundsMatchGateway(payments, payment.id)).refunds.length, 1);
  assert.equal(isReplayed(await send()), true);
});

Deno.test("refund: a retry with the same key does not resend a refund that waits at the bank", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const payment = await payments.paid("gopay");
  const headers = newKey();
  const send = () => refund(payments, payment, { amount: 40_000 }, headers);
  await payments.sandbox.fault("refund", "error_503");
  await assertProblem(await send(), 400, "gateway_error");
  now += 2 * MINUTE_MS;
  await payments.sandbox.fault("refund", "bank_pending");
  await payments.check(payment.id);
  now += 10 * MINUTE_MS;
  const retried = await parseRefunded(await send());
  assert.deepEqual([retried.refund.status, retried.payment.refund_amount], ["pending", "0.00"]);
  assert.equal(payments.relay.times(REFUND), 2);
});

Deno.test("refund: succeeds although the following status check fails", async () => {
  await using payments = await openRelayed({
    databaseUrl,
    gatewayOptions: { wait: createWaits().wait },
  });
  const { app, sandbox } = payments;
  const payment = await payments.paid("gopay");
  await sandbox.fault("status", "error_500", { count: 4 });
  const { refund: newRefund, payment: after } = await parseRefunded(
    await refund(payments, payment, { amount: 40_000 }),
  );
  assert.equal(newRefund.status, "succeeded");
  assert.equal(after.transaction_status, "partial_refund");
  assert.equal(after.refund_amount, "40000.00");
  const [row] = await app.database.query((sql) =>
    sql`select id from gateway.jobs where subject_id = ${payment.id} and status = 'queued'`
  );
  assert.ok(app.enqueued.some(({ id }) => id === row!.id), "a job checks it later");
  await payments.check(payment.id);
  await assertRefundsMatchGateway(payments, payment.id);
});

Deno.test("refund: a retry and concurrent checks after an unknown outcome refund once", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { sandbox } = payments;
  for (const fault of ["reset", "answer_lost"]) {
    const payment = await payments.paid("gopay");
    const headers = newKey();
    const send = () => refund(payments, payment, { amount: 40_000 }, headers);
    await sandbox.fault("refund", fault);
    assert.equal((await send()).status, 502);
    now += 2 * MINUTE_MS;
    const [answer] = await Promise.all([
      send(),
      // A check fails while the gateway processes the other call; its job would be retried.
      ...Array.from({ length: 3 }, () => payments.check(payment.id).catch(() => {})),
    ]);
    const reply = await answer.json();
    assert.ok(answer.status === 200 || reply.outcome === "unknown", JSON.stringify(reply));
    await parseRefunded(await send());
    const after = await assertRefundsMatchGateway(payments, payment.id);
    assert.deepEqual(after.refunds.map(({ status }) => status), ["succeeded"]);
  }
});
