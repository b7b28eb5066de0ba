import assert from "node:assert/strict";
import { runSql } from "../support/database/database.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import {
  ASYNC,
  ASYNC_OPERATIONS,
  parseAcceptedJob,
  readJob,
  runUntilFinished,
  sendAsyncAndRun,
  simulateCrashBeforeResult,
} from "../support/payments/async_requests.ts";
import { type Prepared, timesDone } from "../support/payments/operations.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const UNKNOWN = /\(outcome unknown: payment [0-9a-f-]{36}\)$/;

/** Removes the order id, by which the gateway would detect a second charge. */
function withoutOrderId({ path, body }: Prepared) {
  return { path, body: { ...body, order_id: undefined } };
}

/** Runs a job until it fails: the gateway responds 500 to each attempt and does not execute it. */
async function failWithUnknownOutcome(
  payments: RelayedPayments,
  prepared: Prepared,
  headers: HeadersInit,
  setNow: (now: number) => void,
): Promise<string> {
  const { relay } = payments;
  const { intercept } = relay;
  relay.intercept = () => new Response("<html>", { status: 500 });
  const { id } = await sendAsyncAndRun(payments, prepared, headers);
  const { status, error } = await runUntilFinished(payments, id, setNow);
  assert.equal(status, "failed");
  assert.match(error!, UNKNOWN);
  relay.intercept = intercept;
  return id;
}

for (const { operation, resultOf } of ASYNC_OPERATIONS) {
  Deno.test(`${operation.name}: a job that shares its key with an earlier request expires with the key, and returns the stored reply`, async () => {
    let now = Date.now();
    await using payments = await openRelayed({ now: () => now });
    const { app, post, relay } = payments;
    const { path, body } = withoutOrderId(await operation.prepare(payments));
    const key = newKey();
    const answer = await post(path, body, key);
    assert.equal(answer.status, operation.status);
    now += 5 * HOUR_MS;
    const { id } = await parseAcceptedJob(await post(path, body, { ...ASYNC, ...key }));
    now += 19 * HOUR_MS + MINUTE_MS;
    const before = relay.times(operation.call);
    await runDueJobs(app);
    const { status, result, error } = await readJob(payments, id);
    assert.equal(status, "succeeded", error!);
    assert.deepEqual(result, resultOf(await answer.text()));
    assert.equal(relay.times(operation.call), before);
  });

  Deno.test(`${operation.name}: a job that shares its key with a request of unknown outcome expires with the key, and its error says that the outcome is unknown`, async () => {
    let now = Date.now();
    await using payments = await openRelayed({ now: () => now });
    const { app, post, relay, sandbox } = payments;
    const { path, body } = withoutOrderId(await operation.prepare(payments));
    const key = newKey();
    await sandbox.fault(operation.name, "answer_lost");
    const { payment_id } = await (await post(path, body, key)).json();
    now += MINUTE_MS;
    await runDueJobs(app);
    now += 5 * HOUR_MS;
    const { id } = await parseAcceptedJob(await post(path, body, { ...ASYNC, ...key }));
    now += 19 * HOUR_MS;
    const before = relay.times(operation.call);
    await runDueJobs(app);
    const { status, error } = await readJob(payments, id);
    assert.equal(status, "failed");
    assert.ok(error!.endsWith(`(outcome unknown: payment ${payment_id})`), error!);
    assert.equal(relay.times(operation.call), before);
  });

  Deno.test(`${operation.name}: the error of an expired job with unknown outcome does not ask for a new request`, async () => {
    let now = Date.now();
    await using payments = await openRelayed({ now: () => now });
    const { app, sandbox, databaseUrl } = payments;
    const expiryMs = 23 * HOUR_MS + 1;
    for (const [wait, isPruned] of [[expiryMs, false], [expiryMs + HOUR_MS, true]] as const) {
      const prepared = await operation.prepare(payments);
      await sandbox.fault(operation.name, "answer_lost");
      const firstRun = await sendAsyncAndRun(payments, prepared);
      assert.match(firstRun.error!, UNKNOWN);
      if (isPruned) await runSql(databaseUrl, "delete from gateway.idempotency_keys");
      now += wait;
      await runDueJobs(app);
      const { status, attempts, error } = await readJob(payments, firstRun.id);
      assert.deepEqual([status, attempts], ["failed", 2]);
      assert.match(error!, /can no longer be processed/);
      assert.match(error!, isPruned ? /Look up the payment to find out/ : UNKNOWN);
      assert.doesNotMatch(error!, /new request/);
      assert.equal(await timesDone(payments, operation, prepared), 1);
    }
  });

  Deno.test(`${operation.name}: an expired job returns the stored reply of its earlier attempt`, async () => {
    let now = Date.now();
    await using payments = await openRelayed({ now: () => now });
    const prepared = await operation.prepare(payments);
    const firstRun = await sendAsyncAndRun(payments, prepared);
    await simulateCrashBeforeResult(payments, firstRun.id);
    now += 25 * HOUR_MS;
    await runDueJobs(payments.app);
    const expiredJob = await readJob(payments, firstRun.id);
    assert.deepEqual([expiredJob.status, expiredJob.error], ["succeeded", null]);
    assert.deepEqual(expiredJob.result, firstRun.result);
    assert.equal(await timesDone(payments, operation, prepared), 1);
  });

  Deno.test(`${operation.name}: a repeated request resumes a failed job with unknown outcome`, async () => {
    let now = Date.now();
    await using payments = await openRelayed({
      now: () => now,
      gatewayOptions: { wait: createWaits().wait },
    });
    const { app, post } = payments;
    const prepared = await operation.prepare(payments);
    const { path, body } = prepared;
    const headers = { ...ASYNC, ...newKey() };
    const id = await failWithUnknownOutcome(payments, prepared, headers, (then) => now = then);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => post(path, body, headers)),
    );
    assert.equal(answers.filter((each) => !isReplayed(each)).length, 1);
    for (const answer of answers) {
      const job = await parseAcceptedJob(answer);
      assert.deepEqual([job.id, job.status, job.attempts], [id, "queued", 0]);
      assert.match(job.error!, UNKNOWN, "the job may have taken effect");
    }
    assert.equal(app.enqueued.at(-1)?.id, id);
    await runDueJobs(app);
    const done = await readJob(payments, id);
    assert.deepEqual([done.status, done.error], ["succeeded", null]);
    assert.equal(await timesDone(payments, operation, prepared), 1);
    const after = await post(path, body, headers);
    assert.equal(isReplayed(after), true);
    assert.deepEqual(await parseAcceptedJob(after), done);
  });

  Deno.test(`${operation.name}: a repeated request after the expiry leaves a failed job unchanged`, async () => {
    let now = Date.now();
    await using payments = await openRelayed({
      now: () => now,
      gatewayOptions: { wait: createWaits().wait },
    });
    const prepared = await operation.prepare(payments);
    const headers = { ...ASYNC, ...newKey() };
    const id = await failWithUnknownOutcome(payments, prepared, headers, (then) => now = then);
    const failed = await readJob(payments, id);
    now += 23 * HOUR_MS;
    const again = await payments.post(prepared.path, prepared.body, headers);
    assert.equal(isReplayed(again), true);
    assert.deepEqual(await parseAcceptedJob(again), failed);
  });
}

Deno.test("async request: a repeated request returns the job that failed with a rejection", async () => {
  await using payments = await openRelayed();
  const { order_id } = await payments.charge("bca");
  const request = {
    path: "/charge/",
    body: { payment_type: "gopay", gross_amount: 1_000, order_id },
  };
  const headers = { ...ASYNC, ...newKey() };
  const refused = await sendAsyncAndRun(payments, request, headers);
  assert.match(refused.error!, /^duplicate_order/);
  const again = await payments.post(request.path, request.body, headers);
  assert.equal(isReplayed(again), true);
  assert.deepEqual(await parseAcceptedJob(again), refused);
});
