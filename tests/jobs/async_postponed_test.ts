import assert from "node:assert/strict";
import { openApp } from "../support/app.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { nameOf, openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { SERVER_KEY } from "../support/gateway/sandbox.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import {
  ASYNC,
  ASYNC_OPERATIONS,
  parseAcceptedJob,
  readJob,
  rowOf,
  runUntilFinished,
  sendAsyncAndRun,
} from "../support/payments/async_requests.ts";
import { type Operation, type Prepared, timesDone } from "../support/payments/operations.ts";
import type { Payment } from "../support/payments/payments.ts";
import { until } from "../support/until.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The gateway responds 429 with this Retry-After to the next calls of the operation. */
function rateLimit(
  { relay }: RelayedPayments,
  { call }: Operation,
  seconds: number,
  times: number,
) {
  let left = times;
  relay.intercept = (request, pass) => {
    if (nameOf(request) !== call || left-- <= 0) return pass();
    const body = { status_code: "429", status_message: "API rate limit exceeded" };
    return Response.json(body, { status: 429, headers: { "Retry-After": String(seconds) } });
  };
}

/** The only payment of the order. */
async function findOnlyPayment(payments: RelayedPayments, { orderId }: Prepared): Promise<Payment> {
  const rows = await payments.app.database.query((sql) =>
    sql<{ id: string }[]>`select id from gateway.payments where order_id = ${orderId}`
  );
  assert.equal(rows.length, 1);
  return await payments.read(rows[0]!.id);
}

/** Fails unless the operation took effect once, without a failed refund or a failure event. */
async function assertDoneOnce(
  payments: RelayedPayments,
  operation: Operation,
  prepared: Prepared,
): Promise<void> {
  const { id, refunds } = await findOnlyPayment(payments, prepared);
  assert.deepEqual(
    refunds.map(({ status }) => status),
    operation.name === "refund" ? ["succeeded"] : [],
  );
  assert.ok(!(await payments.events(id)).includes("payment_failed"));
  assert.equal(await timesDone(payments, operation, prepared), 1);
}

for (const { operation } of ASYNC_OPERATIONS) {
  Deno.test(`${operation.name}: a job postponed several times creates one payment and takes effect once`, async () => {
    let now = Date.now();
    await using payments = await openRelayed({
      now: () => now,
      gatewayOptions: { clock: () => now },
    });
    const prepared = await operation.prepare(payments);
    rateLimit(payments, operation, 3, 4);
    const { id } = await sendAsyncAndRun(payments, prepared);
    const done = await runUntilFinished(payments, id, (then) => now = then);
    assert.deepEqual([done.status, done.attempts], ["succeeded", 1], done.error!);
    await assertDoneOnce(payments, operation, prepared);
  });

  Deno.test(`${operation.name}: a job whose call timed out before it was sent is retried and takes effect once`, async () => {
    let now = Date.now();
    const waits = createWaits();
    await using payments = await openRelayed({
      now: () => now,
      gatewayOptions: { wait: waits.wait, maxInFlight: 1 },
    });
    const { app, post, relay } = payments;
    const prepared = await operation.prepare(payments);
    const otherRequest = await operation.prepare(payments);
    // The other request occupies the only slot for gateway calls until the job's call times out.
    const held = relay.holdNext(operation.call);
    const holding = post(otherRequest.path, otherRequest.body);
    await held.arrived;
    const { id } = await parseAcceptedJob(await post(prepared.path, prepared.body, ASYNC));
    const before = waits.limits.length;
    const running = runDueJobs(app);
    await until("the job's call waits for a slot", () => waits.limits.length > before);
    waits.passDeadlines();
    await Promise.all([holding, running]);
    held.release();
    const waitingJob = await readJob(payments, id);
    assert.deepEqual([waitingJob.status, waitingJob.attempts], ["queued", 1]);
    assert.match(waitingJob.error!, /^gateway_timeout: .+before the request was sent/);
    now += 10_000;
    await runDueJobs(app);
    const done = await readJob(payments, id);
    assert.equal(done.status, "succeeded", done.error!);
    await assertDoneOnce(payments, operation, prepared);
  });

  Deno.test(`${operation.name}: a Retry-After of a day postpones the job for an hour, and other instances do not fail the payment meanwhile`, async () => {
    let now = Date.now();
    await using payments = await openRelayed({
      now: () => now,
      gatewayOptions: { clock: () => now },
    });
    // Another instance, which did not receive the 429.
    await using otherApp = await openApp({
      databaseUrl: payments.databaseUrl,
      gatewayUrl: payments.relay.url,
      serverKey: SERVER_KEY,
      now: () => now,
    });
    const prepared = await operation.prepare(payments);
    rateLimit(payments, operation, 86_400, 1);
    const { id } = await sendAsyncAndRun(payments, prepared);
    const { run_at } = await rowOf(payments, id);
    assert.equal(run_at.getTime() - now, HOUR_MS);
    for (const minutes of [2, 20, 30]) {
      now += minutes * MINUTE_MS;
      await runDueJobs(otherApp);
    }
    const done = await runUntilFinished(payments, id, (then) => now = then);
    assert.equal(done.status, "succeeded", done.error!);
    await assertDoneOnce(payments, operation, prepared);
  });

  Deno.test(`${operation.name}: a job postponed beyond its expiry fails`, async () => {
    let now = Date.now();
    await using payments = await openRelayed({
      now: () => now,
      gatewayOptions: { clock: () => now },
    });
    const prepared = await operation.prepare(payments);
    rateLimit(payments, operation, 3_600, Infinity);
    const { id } = await sendAsyncAndRun(payments, prepared);
    const endedJob = await runUntilFinished(payments, id, (then) => now = then);
    const payment = await findOnlyPayment(payments, prepared);
    assert.equal(endedJob.status, "failed");
    assert.match(
      endedJob.error!,
      new RegExp(`can no longer be processed.+outcome unknown: payment ${payment.id}`),
    );

    // The job has failed; the scheduled checks of the payment find its outcome.
    rateLimit(payments, operation, 0, 0);
    const isOpen = ({ transaction_status, refunds }: Payment) =>
      transaction_status === "pending" || refunds.some(({ status }) => status === "pending");
    for (let hours = 0; hours < 3 && isOpen(await payments.read(payment.id)); hours++) {
      now += HOUR_MS;
      await runDueJobs(payments.app);
    }
    const { transaction_status, refunds } = await findOnlyPayment(payments, prepared);
    const isCharge = operation.name === "charge";
    assert.equal(transaction_status, isCharge ? "failure" : "partial_refund");
    assert.deepEqual(refunds.map(({ status }) => status), isCharge ? [] : ["succeeded"]);
    assert.equal(await timesDone(payments, operation, prepared), isCharge ? 0 : 1);
  });
}
