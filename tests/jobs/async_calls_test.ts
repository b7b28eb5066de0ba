import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { prune } from "../../core/tasks/prune.ts";
import { JobSchema } from "../../routes/jobs/schema.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import {
  ASYNC,
  ASYNC_OPERATIONS,
  parseAcceptedJob,
  readJob,
  rowOf,
  sendAsyncAndRun,
  simulateCrashBeforeResult,
} from "../support/payments/async_requests.ts";
import { timesDone } from "../support/payments/operations.ts";
import { parsePayment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const CHARGE = { payment_type: "gopay", gross_amount: 1_000 };
const HOUR_MS = 3_600_000;

for (const { operation, task, resultOf } of ASYNC_OPERATIONS) {
  Deno.test(`${operation.name}: respond-async returns a job whose result contains the payment as the API returns it`, async () => {
    await using payments = await openRelayed();
    const { app, post, relay } = payments;
    const prepared = await operation.prepare(payments);
    const before = relay.received.length;
    const job = await parseAcceptedJob(await post(prepared.path, prepared.body, ASYNC));
    assert.deepEqual(
      [job.task, job.status, job.attempts, job.result, job.error],
      [task, "queued", 0, null, null],
    );
    assert.deepEqual(await readJob(payments, job.id), job);
    assert.equal(relay.received.length, before, "the gateway is not called yet");
    assert.deepEqual(app.enqueued.at(-1)?.id, job.id);

    await runDueJobs(app);
    const done = await readJob(payments, job.id);
    assert.deepEqual([done.status, done.attempts, done.error], ["succeeded", 1, null]);
    const { payment } = resultOf(
      JSON.stringify(operation.name === "charge" ? done.result!.payment : done.result),
    );
    assert.deepEqual(await payments.read(payment.id), payment);
    assert.equal(payment.order_id, prepared.orderId);
    assert.equal(await timesDone(payments, operation, prepared), 1);
  });

  Deno.test(`${operation.name}: a repeated key returns the same job, whether it is queued or has succeeded`, async () => {
    await using payments = await openRelayed();
    const { app, post } = payments;
    const prepared = await operation.prepare(payments);
    const { path, body } = prepared;
    const headers = { ...ASYNC, ...newKey() };
    const firstResponse = await post(path, body, headers);
    assert.equal(isReplayed(firstResponse), false);
    const job = await parseAcceptedJob(firstResponse);
    for (const status of ["queued", "succeeded"]) {
      const again = await post(path, body, headers);
      assert.equal(isReplayed(again), true);
      const sameJob = await parseAcceptedJob(again);
      assert.deepEqual([sameJob.id, sameJob.status], [job.id, status]);
      const otherAmount = { [operation.name === "charge" ? "gross_amount" : "amount"]: 7 };
      const withOtherBody = await post(path, { ...body, ...otherAmount }, headers);
      await assertProblem(withOtherBody, 422, "idempotency_key_reused");
      await runDueJobs(app);
    }
    assert.equal(await timesDone(payments, operation, prepared), 1);
  });

  Deno.test(`${operation.name}: 20 concurrent requests with one key create one job`, async () => {
    await using payments = await openRelayed();
    const { app, post, relay } = payments;
    const prepared = await operation.prepare(payments);
    const headers = { ...ASYNC, ...newKey() };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => post(prepared.path, prepared.body, headers)),
    );
    assert.equal(answers.filter((each) => !isReplayed(each)).length, 1);
    const jobs = await Promise.all(answers.map(parseAcceptedJob));
    assert.equal(new Set(jobs.map(({ id }) => id)).size, 1);
    const before = relay.times(operation.call);
    await Promise.all([runDueJobs(app), runDueJobs(app), runDueJobs(app)]);
    assert.equal((await readJob(payments, jobs[0]!.id)).status, "succeeded");
    assert.equal(relay.times(operation.call), before + 1);
    assert.equal(await timesDone(payments, operation, prepared), 1);
  });

  Deno.test(`${operation.name}: if a synchronous request with the key of a queued job arrives, the request takes effect and the job gets the result of the request`, async () => {
    await using payments = await openRelayed();
    const { app, post } = payments;
    const prepared = await operation.prepare(payments);
    const headers = newKey();
    const { id } = await parseAcceptedJob(
      await post(prepared.path, prepared.body, { ...ASYNC, ...headers }),
    );
    const synchronous = await post(prepared.path, prepared.body, headers);
    assert.equal(synchronous.status, operation.status);
    assert.equal(isReplayed(synchronous), false);
    await runDueJobs(app);
    const { status, result } = await readJob(payments, id);
    assert.equal(status, "succeeded");
    assert.deepEqual(result, resultOf(await synchronous.text()));
    assert.equal(await timesDone(payments, operation, prepared), 1);
  });

  Deno.test(`${operation.name}: a synchronous request with the key of a job gets a conflict while the job runs, and the job's result afterwards`, async () => {
    await using payments = await openRelayed();
    const { app, post, relay } = payments;
    const prepared = await operation.prepare(payments);
    const headers = newKey();
    const { id } = await parseAcceptedJob(
      await post(prepared.path, prepared.body, { ...ASYNC, ...headers }),
    );
    const held = relay.holdNext(operation.call);
    const running = runDueJobs(app);
    await held.arrived;
    assert.equal((await readJob(payments, id)).status, "running");
    const concurrent = await post(prepared.path, prepared.body, headers);
    await assertProblem(concurrent, 409, "idempotency_in_progress");
    held.release();
    await running;
    const after = await post(prepared.path, prepared.body, headers);
    assert.equal(isReplayed(after), true);
    assert.deepEqual((await readJob(payments, id)).result, resultOf(await after.text()));
    assert.equal(await timesDone(payments, operation, prepared), 1);
  });

  Deno.test(`${operation.name}: a job is postponed while a request with its key is running`, async () => {
    let now = Date.now();
    await using payments = await openRelayed({ now: () => now });
    const { app, post, relay } = payments;
    const prepared = await operation.prepare(payments);
    const headers = newKey();
    const held = relay.holdNext(operation.call);
    const running = post(prepared.path, prepared.body, headers);
    await held.arrived;
    const { id, status, attempts } = await sendAsyncAndRun(payments, prepared, headers);
    assert.deepEqual([status, attempts], ["queued", 0]);
    held.release();
    const answer = await running;
    now += 5_000;
    await runDueJobs(app);
    const done = await readJob(payments, id);
    assert.deepEqual(done.result, resultOf(await answer.text()));
    assert.equal(await timesDone(payments, operation, prepared), 1);
  });

  for (const headers of [{}, newKey()]) {
    const name = "Idempotency-Key" in headers ? "with a key" : "without a key";
    Deno.test(`${operation.name}: a job ${name} that runs twice takes effect once`, async () => {
      await using payments = await openRelayed();
      const prepared = await operation.prepare(payments);
      const firstRun = await sendAsyncAndRun(payments, prepared, headers);
      assert.equal(firstRun.status, "succeeded");
      await simulateCrashBeforeResult(payments, firstRun.id);
      await runDueJobs(payments.app);
      const secondRun = await readJob(payments, firstRun.id);
      assert.deepEqual([secondRun.status, secondRun.attempts], ["succeeded", 2]);
      assert.deepEqual(secondRun.result, firstRun.result);
      assert.equal(payments.relay.times(operation.call), 1);
      assert.equal(await timesDone(payments, operation, prepared), 1);
    });
  }

  Deno.test(`${operation.name}: after an unknown outcome the job checks the gateway and takes effect once`, async () => {
    let now = Date.now();
    await using payments = await openRelayed({ now: () => now });
    const { app, sandbox } = payments;
    for (const fault of ["answer_lost", "error_500", "reset"]) {
      const prepared = await operation.prepare(payments);
      await sandbox.fault(operation.name, fault);
      const firstRun = await sendAsyncAndRun(payments, prepared);
      assert.deepEqual([firstRun.status, firstRun.attempts], ["queued", 1], fault);
      assert.match(firstRun.error!, /^gateway_\w+: .+ \(outcome unknown: payment [0-9a-f-]{36}\)$/);
      const { run_at, updated_at } = await rowOf(payments, firstRun.id);
      assert.equal(run_at.getTime() - updated_at.getTime(), 10_000);
      now += 10_000;
      await runDueJobs(app);
      const done = await readJob(payments, firstRun.id);
      assert.deepEqual([done.status, done.error], ["succeeded", null], fault);
      assert.equal(await timesDone(payments, operation, prepared), 1);
    }
  });

  Deno.test(`${operation.name}: a job whose outcome stays unknown fails after five retries`, async () => {
    let now = Date.now();
    await using payments = await openRelayed({
      now: () => now,
      gatewayOptions: { wait: createWaits().wait },
    });
    const prepared = await operation.prepare(payments);
    payments.relay.intercept = () => new Response("<html>", { status: 500 });
    const { id } = await sendAsyncAndRun(payments, prepared);
    const delays: number[] = [];
    for (let job = await rowOf(payments, id); job.status === "queued";) {
      delays.push((job.run_at.getTime() - now) / 1_000);
      now = job.run_at.getTime();
      await runDueJobs(payments.app);
      job = await rowOf(payments, id);
    }
    assert.deepEqual(delays, [10, 20, 40, 80, 160]);
    const { status, attempts, error } = await readJob(payments, id);
    assert.deepEqual([status, attempts], ["failed", 6]);
    assert.match(error!, /^gateway_error: .+outcome unknown/);
  });

  Deno.test(`${operation.name}: a 429 of the gateway postpones the job without counting an attempt`, async () => {
    let now = Date.now();
    await using payments = await openRelayed({
      now: () => now,
      gatewayOptions: { clock: () => now },
    });
    const prepared = await operation.prepare(payments);
    await payments.sandbox.fault(operation.name, "rate_limit");
    const { id, status, attempts } = await sendAsyncAndRun(payments, prepared);
    assert.deepEqual([status, attempts], ["queued", 0]);
    for (let job = await rowOf(payments, id); job.status === "queued";) {
      assert.ok(job.run_at.getTime() > now);
      now = job.run_at.getTime();
      await runDueJobs(payments.app);
      job = await rowOf(payments, id);
    }
    const done = await readJob(payments, id);
    assert.deepEqual([done.status, done.attempts], ["succeeded", 1]);
    assert.equal(await timesDone(payments, operation, prepared), 1);
  });

  Deno.test(`${operation.name}: a job older than 23 hours fails without calling the gateway`, async () => {
    const start = Date.now();
    let now = start;
    await using payments = await openRelayed({ now: () => now });
    const { app, post, relay } = payments;
    const prepared = await operation.prepare(payments);
    const { id } = await parseAcceptedJob(await post(prepared.path, prepared.body, ASYNC));
    now = start + 23 * HOUR_MS + 1;
    const before = relay.times(operation.call);
    await runDueJobs(app);
    const { status, error } = await readJob(payments, id);
    assert.equal(status, "failed");
    assert.match(error!, /^invalid_state: .+can no longer be processed/);
    assert.equal(relay.times(operation.call), before);
  });
}

Deno.test("key of an async request: can be reused after 24 hours", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ now: () => now });
  const headers = newKey();
  const firstJob = await sendAsyncAndRun(payments, { path: "/charge/", body: CHARGE }, headers);
  now += 24 * HOUR_MS + 1_000;
  const otherBody = { ...CHARGE, gross_amount: 2_000 };
  const secondJob = await sendAsyncAndRun(payments, { path: "/charge/", body: otherBody }, headers);
  assert.notEqual(secondJob.id, firstJob.id);
  assert.equal(secondJob.status, "succeeded");
  assert.equal((await readJob(payments, firstJob.id)).status, "succeeded");
});

Deno.test("key of an async request: with KEEP_KEYS_DAYS=7 returns the same job for 7 days, even if jobs are kept for one day", async () => {
  const start = Date.now();
  let now = start;
  const env = { KEEP_KEYS_DAYS: "7", KEEP_JOBS_DAYS: "1" };
  await using payments = await openRelayed({ now: () => now, env });
  const headers = newKey();
  const request = { path: "/charge/", body: CHARGE };
  const firstJob = await sendAsyncAndRun(payments, request, headers);
  now = start + 7 * 24 * HOUR_MS - 1_000;
  await prune(payments.app.service);
  const again = await payments.post(request.path, request.body, { ...headers, ...ASYNC });
  assert.equal((await parseAcceptedJob(again)).id, firstJob.id);
  now += 2_000;
  assert.notEqual((await sendAsyncAndRun(payments, request, headers)).id, firstJob.id);
});

Deno.test("key of an async request: with KEEP_KEYS_DAYS=7 a job can complete a synchronous request that is 30 hours old, but each job still expires after 23 hours", async () => {
  const start = Date.now();
  let now = start;
  await using payments = await openRelayed({ now: () => now, env: { KEEP_KEYS_DAYS: "7" } });
  const { app, post, sandbox } = payments;
  const headers = newKey();
  const body = { ...CHARGE, order_id: randomUUID() };
  await sandbox.fault("charge", "answer_lost");
  assert.equal((await post("/charge/", body, headers)).status, 502);
  now = start + 30 * HOUR_MS;
  const done = await sendAsyncAndRun(payments, { path: "/charge/", body }, headers);
  assert.equal(done.status, "succeeded");
  assert.equal((await payments.transactions(body.order_id)).length, 1);

  const { id } = await parseAcceptedJob(await post("/charge/", CHARGE, { ...newKey(), ...ASYNC }));
  now += 23 * HOUR_MS + 1;
  await runDueJobs(app);
  assert.equal((await readJob(payments, id)).status, "failed");
});

Deno.test("key of an async request: is rejected if a synchronous request used it with another body", async () => {
  await using payments = await openRelayed();
  const { post } = payments;
  const headers = newKey();
  const charged = await parsePayment(await post("/charge/", CHARGE, headers), 201);
  const withOtherBody = await post("/charge/", { ...CHARGE, gross_amount: 7 }, {
    ...headers,
    ...ASYNC,
  });
  await assertProblem(withOtherBody, 422, "idempotency_key_reused");
  const job = await sendAsyncAndRun(payments, { path: "/charge/", body: CHARGE }, headers);
  assert.deepEqual(job.result, { payment: charged });
  assert.equal(payments.relay.times("POST /v2/charge"), 1);
});

Deno.test("key of an async request: the same key of two callers creates two jobs", async () => {
  await using payments = await openRelayed();
  const bob = await payments.app.createKey({ userId: "bob" });
  const headers = { ...ASYNC, ...newKey() };
  const alicesJob = await parseAcceptedJob(await payments.post("/charge/", CHARGE, headers));
  const answer = await payments.post("/charge/", CHARGE, headers, bob);
  assert.equal(isReplayed(answer), false);
  assert.notEqual((await parseAcceptedJob(answer)).id, alicesJob.id);
});

Deno.test("async request: without a key each request creates a job", async () => {
  await using payments = await openRelayed();
  const { post } = payments;
  const paid = await payments.paid("gopay");
  const refund = { path: `/payments/${paid.id}/refund/`, body: { amount: 1_000 } };
  await parseAcceptedJob(await post(refund.path, refund.body, ASYNC));
  await sendAsyncAndRun(payments, refund);
  assert.equal((await payments.read(paid.id)).refund_amount, "2000.00");
});

/** Requests that are definitely rejected, and the error of each. */
const REJECTIONS: Record<string, (payments: RelayedPayments) => Promise<[string, Json, RegExp]>> = {
  "an order id in use": async ({ charge }) => {
    const { order_id } = await charge("bca");
    return ["/charge/", { ...CHARGE, order_id }, /^duplicate_order: Order id .+ is already in use/];
  },
  "a charge that the gateway rejects as invalid": ({ relay }) => {
    relay.intercept = () => Response.json({ status_code: "400", status_message: "No such thing" });
    return Promise.resolve(["/charge/", CHARGE, /^gateway_validation: .*No such thing/]);
  },
  "a refund of an unpaid payment": async ({ charge }) => {
    const { id } = await charge("gopay");
    return [`/payments/${id}/refund/`, {}, /^invalid_state: A payment with status pending cannot/];
  },
  "a refund above the remaining amount": async ({ paid }) => {
    const { id } = await paid("gopay");
    return [`/payments/${id}/refund/`, { amount: 99_000 }, /^validation_error: amount/];
  },
  "a refund that the bank denies": async ({ paid, sandbox }) => {
    const { id } = await paid("gopay");
    await sandbox.fault("refund", "bank_refuses");
    return [`/payments/${id}/refund/`, {}, /^refund_denied: /];
  },
};

for (const [what, prepare] of Object.entries(REJECTIONS)) {
  Deno.test(`async job: ${what} fails without a retry`, async () => {
    await using payments = await openRelayed();
    const [path, body, error] = await prepare(payments);
    const job = await sendAsyncAndRun(payments, { path, body });
    assert.deepEqual([job.status, job.attempts, job.result], ["failed", 1, null], job.error!);
    assert.match(job.error!, error);
    assert.equal(await runDueJobs(payments.app), 0);
  });
}

Deno.test("Prefer header: respond-async is recognized in every valid notation", async () => {
  await using payments = await openRelayed();
  const { app, key } = payments;
  const send = async (...prefer: string[]) => {
    const headers = new Headers({ "Content-Type": "application/json" });
    for (const each of prefer) headers.append("Prefer", each);
    const init = { method: "POST", body: JSON.stringify(CHARGE), headers };
    return (await app.as(key, "/charge/", init)).status;
  };
  for (
    const prefer of [
      ["Respond-Async"],
      ["respond-async, wait=10"],
      ["handling=lenient;a=1 ,  RESPOND-ASYNC ; foo=bar"],
      ["wait=10", "respond-async"],
      ['foo="a, \\"b", respond-async=""'],
    ]
  ) assert.equal(await send(...prefer), 202, prefer.join(" | "));
  for (
    const prefer of [
      ["wait=10"],
      ["respond-asynchronously"],
      ["not respond-async"],
      ['foo="respond-async"'],
      ['foo=", respond-async, "'],
      ["foo=1; respond-async"],
      [""],
    ]
  ) assert.equal(await send(...prefer), 201, prefer.join(" | "));
});

Deno.test("async request: an invalid request is rejected at once and creates no job", async () => {
  await using payments = await openRelayed();
  const { app, post, get } = payments;
  const { id } = await payments.paid("gopay");
  const bob = await app.createKey({ userId: "bob" });
  const invalidCharge = { ...CHARGE, gross_amount: -1 };
  await assertProblem(await post("/charge/", invalidCharge, ASYNC), 400, "validation_error");
  const refund = `/payments/${id}/refund/`;
  await assertProblem(await post(refund, { amount: 0.5 }, ASYNC), 400, "validation_error");
  await assertProblem(await post(refund, {}, ASYNC, bob), 404, "not_found");
  const unknownPath = `/payments/${randomUUID()}/refund/`;
  await assertProblem(await post(unknownPath, {}, ASYNC), 404, "not_found");
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  const jobs = await (await get("/jobs/?task=process_refund_async", staff)).json();
  assert.deepEqual(jobs, []);
});

Deno.test("async request: the job of a staff request runs as staff, and the request needs no body", async () => {
  await using payments = await openRelayed();
  const { app, post, get } = payments;
  const { id } = await payments.paid("gopay");
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  const job = await parseAcceptedJob(
    await post(`/payments/${id}/refund/`, undefined, ASYNC, staff),
  );
  await runDueJobs(app);
  const done = JobSchema.parse(await (await get(`/jobs/${job.id}/`, staff)).json());
  assert.equal(done.status, "succeeded", done.error!);
  assert.equal((await payments.read(id)).transaction_status, "refund");
});

Deno.test("async request: Location contains the base path", async () => {
  await using payments = await openRelayed({ env: { BASE_PATH: "/pay" } });
  const { post, get } = payments;
  const charged = await post("/pay/charge", CHARGE, ASYNC);
  const payment = await parsePayment(await post("/pay/charge/", CHARGE), 201);
  const refunded = await post(`/pay/payments/${payment.id}/refund`, {}, ASYNC);
  for (const answer of [charged, refunded]) {
    const { id } = JobSchema.parse(await answer.json());
    assert.equal(answer.headers.get("Location"), `/pay/jobs/${id}/`);
    assert.equal((await get(answer.headers.get("Location")!)).status, 200);
  }
});
