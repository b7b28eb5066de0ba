import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { PostponeJob } from "../../core/jobs/task.ts";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import { newKey } from "../support/idempotency.ts";
import { chargeRequest, parsePayment } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { type Json, SERVER_KEY } from "../support/gateway/sandbox.ts";

const databaseUrl = await createDatabase();
const MINUTE_MS = 60_000;

/** An app whose clock the test sets. */
async function openTimed() {
  const time = { now: Date.now() };
  const payments = await openRelayed({
    databaseUrl,
    now: () => time.now,
    gatewayOptions: { clock: () => time.now },
  });
  return { payments, time, [Symbol.asyncDispose]: () => payments[Symbol.asyncDispose]() };
}

/** Lets the gateway process each write, but replaces its response with a proxy's HTML page. */
function replaceWriteResponses({ relay }: RelayedPayments, status: number) {
  relay.intercept = async (request, pass) => {
    const answer = await pass();
    if (request.method === "GET") return answer;
    await answer.body?.cancel();
    return new Response("<html>Blocked</html>", { status });
  };
}

function passResponses({ relay }: RelayedPayments) {
  relay.intercept = (_request, pass) => pass();
}

/** Changes every response of the gateway. */
function changeResponses({ relay }: RelayedPayments, change: (answer: Json) => Json) {
  relay.intercept = async (_request, pass) => Response.json(change(await (await pass()).json()));
}

async function rowOf({ app }: RelayedPayments, id: string) {
  const [row] = await app.database.query((sql) =>
    sql`select * from gateway.payments where id = ${id}`
  );
  return row!;
}

for (const status of [400, 401, 403, 404, 406, 429]) {
  Deno.test(`charge and refund: an HTML page with status ${status} instead of the response leaves the outcome unknown`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    const paidPayment = await payments.paid("gopay");
    const body = { ...await chargeRequest(payments.sandbox, "card"), order_id: randomUUID() };
    replaceWriteResponses(payments, status);
    const charge = await (await payments.post("/charge/", body)).json();
    const refund =
      await (await payments.post(`/payments/${paidPayment.id}/refund/`, { amount: 1_000 }))
        .json();
    assert.deepEqual([charge.outcome, refund.outcome], ["unknown", "unknown"]);
    passResponses(payments);
    assert.equal((await payments.refresh(charge.payment_id)).transaction_status, "capture");
    const refunded = await payments.refresh(paidPayment.id);
    assert.equal(refunded.refund_amount, "1000.00");
    assert.equal(refunded.refunds.length, 1);
  });
}

Deno.test("check_payment_status: an HTML 404 page does not prove that a charge does not exist", async () => {
  await using timed = await openTimed();
  const { payments, time } = timed;
  await payments.sandbox.fault("charge", "answer_lost");
  const body = await chargeRequest(payments.sandbox, "card");
  const { payment_id } = await (await payments.post("/charge/", body)).json();
  time.now += 16 * MINUTE_MS;
  payments.relay.intercept = () => new Response("<html>No such site</html>", { status: 404 });
  await assert.rejects(payments.check(payment_id));
  assert.equal((await payments.read(payment_id)).transaction_status, "pending");
  passResponses(payments);
  await payments.check(payment_id);
  assert.equal((await payments.read(payment_id)).transaction_status, "capture");
});

Deno.test("charge: removes characters from the gateway's message that PostgreSQL cannot store", async () => {
  await using payments = await openRelayed({ databaseUrl });
  for (const [sent, stored] of [["a\0b", "ab"], ["a\ud800b", "a\ufffdb"]]) {
    changeResponses(payments, (answer) => ({ ...answer, status_message: sent }));
    assert.equal((await payments.charge("bca")).status_message, stored);
  }
});

Deno.test("charge: a retry with the key of a failed charge makes a new charge with the same order id", async () => {
  await using timed = await openTimed();
  const { payments, time } = timed;
  const body = await chargeRequest(payments.sandbox, "bca");
  for (const order of [{}, { order_id: randomUUID() }]) {
    const key = newKey();
    await payments.sandbox.fault("charge", "reset");
    const firstProblem = await (await payments.post("/charge/", { ...body, ...order }, key)).json();
    time.now += 16 * MINUTE_MS;
    await payments.check(firstProblem.payment_id);
    const secondResponse = await payments.post("/charge/", { ...body, ...order }, key);
    const payment = await parsePayment(secondResponse, 201);
    assert.notEqual(payment.id, firstProblem.payment_id);
    assert.equal(payment.order_id, firstProblem.order_id);
  }
});

Deno.test("circuit breaker: while one call probes the gateway, other charges are refused and not stored", async () => {
  await using timed = await openTimed();
  const { payments, time } = timed;
  const body = { payment_type: "gopay", gross_amount: 1_000 };
  await payments.sandbox.fault("charge", "reset", { count: 5 });
  for (let i = 0; i < 5; i++) await (await payments.post("/charge/", body)).body?.cancel();
  time.now += 11_000;
  const held = payments.relay.holdNext("POST /v2/charge");
  const probe = payments.post("/charge/", body);
  await held.arrived;
  const count = () =>
    payments.app.database.query((sql) => sql`select count(*) from gateway.payments`);
  const before = await count();
  for (let i = 0; i < 10; i++) {
    const problem = await assertProblem(
      await payments.post("/charge/", body),
      502,
      "gateway_unreachable",
    );
    assert.equal(problem.outcome, "refused");
  }
  assert.deepEqual(await count(), before);
  held.release();
  assert.equal((await probe).status, 201);
});

Deno.test("refund: is checked after a minute although an earlier job of the payment is postponed for a day", async () => {
  await using timed = await openTimed();
  const { payments, time } = timed;
  const key = newKey();
  const body = { payment_type: "dana", gross_amount: 1_000 };
  await payments.sandbox.fault("charge", "reset");
  await (await payments.post("/charge/", body, key)).body?.cancel();
  time.now += 61_000;
  await runDueJobs(payments.app);
  const payment = await parsePayment(await payments.post("/charge/", body, key), 201);
  await payments.sandbox.control(`transactions/${payment.transaction_id}/pay`);
  await payments.refresh(payment.id);
  await payments.sandbox.fault("refund", "answer_lost");
  await (await payments.post(`/payments/${payment.id}/refund/`)).body?.cancel();
  const [waitingJob, ...otherJobs] = (await jobsOf(payments.app, payment.id))
    .filter(({ status }) => status === "queued");
  assert.deepEqual(otherJobs, []);
  assert.equal(waitingJob!.run_at.getTime(), time.now + 60_000);
  assert.ok(payments.app.enqueued.some(({ id }) => id === waitingJob!.id));
  time.now += 61_000;
  await runDueJobs(payments.app);
  assert.deepEqual(
    (await payments.read(payment.id)).refunds.map(({ status }) => status),
    ["succeeded"],
  );
});

Deno.test("check_payment_status: completes a refund although an earlier one keeps failing", async () => {
  await using timed = await openTimed();
  const { payments, time } = timed;
  const { id } = await payments.paid("gopay");
  for (const amount of [1_000, 2_000]) {
    await payments.sandbox.fault("refund", "reset");
    await (await payments.post(`/payments/${id}/refund/`, { amount })).body?.cancel();
  }
  payments.relay.intercept = (request, pass) =>
    request.body.includes('"amount":1000')
      ? Response.json({ status_code: "500", status_message: "Sorry" })
      : pass();
  time.now += 2 * MINUTE_MS;
  await assert.rejects(payments.check(id));
  const { refunds } = await payments.read(id);
  assert.deepEqual(refunds.map(({ amount, status }) => [amount, status]), [
    ["1000.00", "pending"],
    ["2000.00", "succeeded"],
  ]);
});

Deno.test("check_payment_status: an outdated response does not mark a charge as failed while it is sent again", async () => {
  await using timed = await openTimed();
  const { payments, time } = timed;
  const key = newKey();
  const body = await chargeRequest(payments.sandbox, "bca");
  await payments.sandbox.fault("charge", "reset");
  const { payment_id } = await (await payments.post("/charge/", body, key)).json();
  time.now += 16 * MINUTE_MS;
  const heldCheck = payments.relay.holdAnswer("GET /v2/:id/status");
  const job = payments.check(payment_id);
  await heldCheck.arrived;
  const heldCharge = payments.relay.holdNext("POST /v2/charge");
  const again = payments.post("/charge/", body, key);
  await heldCharge.arrived;
  heldCheck.release();
  await assert.rejects(job, PostponeJob);
  heldCharge.release();
  await parsePayment(await again, 201);
  assert.deepEqual(await payments.transitions(payment_id), [">pending charge"]);
  assert.deepEqual(await payments.events(payment_id), ["payment_received"]);
});

Deno.test("refund: takes over the gateway's refunds although they have no refund_key", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { id } = await payments.paid("gopay");
  changeResponses(payments, (answer) => ({
    ...answer,
    refunds: answer.refunds?.map(({ refund_key: _, ...refund }: Json) => refund),
  }));
  await (await payments.post(`/payments/${id}/refund/`, { amount: 30_000 })).body?.cancel();
  const { refund_amount, net_amount } = await payments.refresh(id);
  assert.deepEqual([refund_amount, net_amount], ["30000.00", "14000.00"]);
});

Deno.test("check_pending_payments: stops checking a failed charge whose retry also failed", async () => {
  await using timed = await openTimed();
  const { payments, time } = timed;
  const key = newKey();
  const body = await chargeRequest(payments.sandbox, "bca");
  await payments.sandbox.fault("charge", "reset");
  const { payment_id } = await (await payments.post("/charge/", body, key)).json();
  time.now += 16 * MINUTE_MS;
  await runDueJobs(payments.app);
  payments.relay.intercept = () => Response.json({ status_code: "500" });
  await (await payments.post("/charge/", body, key)).body?.cancel();
  assert.notEqual((await rowOf(payments, payment_id)).check_at, null);
  passResponses(payments);
  time.now += 2 * MINUTE_MS;
  await checkPendingPayments(payments.app.service);
  await runDueJobs(payments.app);
  const { transaction_status, check_at } = await rowOf(payments, payment_id);
  assert.deepEqual([transaction_status, check_at], ["failure", null]);
});

Deno.test("payments: an unknown table column added by a later release does not break this release", async () => {
  await using payments = await openRelayed({ databaseUrl: await createDatabase() });
  for (
    const table of ["payments", "payment_items", "refunds", "events", "idempotency_keys", "jobs"]
  ) {
    await payments.app.database.query((sql) =>
      sql.unsafe(`alter table gateway.${table} add column note text not null default 'new'`)
    );
  }
  const item_details = [{ name: "Coffee", price: 44_000, quantity: 1 }];
  const body = { ...await chargeRequest(payments.sandbox, "gopay"), item_details };
  const { id, transaction_id } = await parsePayment(
    await payments.post("/charge/", body, newKey()),
    201,
  );
  await payments.sandbox.control(`transactions/${transaction_id}/pay`);
  await payments.refresh(id);
  await payments.sandbox.fault("refund", "answer_lost");
  await (await payments.post(`/payments/${id}/refund/`, {}, newKey())).body?.cancel();
  assert.equal((await jobsOf(payments.app, id)).length, 1);
});

Deno.test("charge: an internal error after the payment was stored names the payment", async () => {
  await using payments = await openRelayed({ databaseUrl: await createDatabase() });
  await payments.app.database.query((sql) =>
    sql.unsafe("alter table gateway.events add constraint never check (name = 'never')")
  );
  const body = await chargeRequest(payments.sandbox, "bca");
  const problem = await assertProblem(
    await payments.post("/charge/", body),
    500,
    "internal_error",
  );
  assert.equal(problem.outcome, "unknown");
  assert.equal((await payments.read(problem.payment_id!)).order_id, problem.order_id);
});

Deno.test("refund: the sum never exceeds the payment although the gateway lists only the latest refund", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { id } = await payments.paid("gopay");
  changeResponses(payments, (answer) => ({ ...answer, refunds: answer.refunds?.slice(-1) }));
  const answers = [];
  for (let i = 0; i < 5; i++) {
    const response = await payments.post(`/payments/${id}/refund/`, { amount: 20_000 });
    answers.push(response.status);
    await response.body?.cancel();
  }
  assert.deepEqual(answers, [200, 200, 400, 400, 400]);
  assert.equal((await payments.refresh(id)).refund_amount, "40000.00");
});

Deno.test("check_payment_status: an unusable response does not stop later checks", async () => {
  await using timed = await openTimed();
  const { payments, time } = timed;
  const unusable: Json[] = [
    { transaction_id: undefined },
    { transaction_id: randomUUID() },
    { transaction_status: undefined },
  ];
  for (const change of unusable) {
    const { id, transaction_id } = await payments.charge("bca");
    changeResponses(payments, (answer) => ({ ...answer, ...change }));
    await assert.rejects(payments.check(id));
    passResponses(payments);
    assert.notEqual((await rowOf(payments, id)).check_at, null);
    await payments.sandbox.control(`transactions/${transaction_id}/pay`);
    time.now += 10 * MINUTE_MS;
    await checkPendingPayments(payments.app.service);
    await runDueJobs(payments.app);
    assert.equal((await payments.read(id)).transaction_status, "settlement");
  }
});

Deno.test("check_status: stores an invalid time as null and still settles the payment", async () => {
  await using payments = await openRelayed({ databaseUrl });
  for (const time of ["0001-01-01 00:00:00", "0000-00-00 00:00:00", "2026-13-45 99:99:99"]) {
    const times = { transaction_time: time, expiry_time: time, settlement_time: time };
    changeResponses(payments, (answer) => ({ ...answer, ...times }));
    const { id, transaction_id, expiry_time } = await payments.charge("bca");
    assert.equal(expiry_time, null);
    await payments.sandbox.control(`transactions/${transaction_id}/pay`);
    const { transaction_status, settlement_time } = await payments.refresh(id);
    assert.deepEqual([transaction_status, settlement_time], ["settlement", null]);
  }
});

Deno.test("capture: a response without the amount leaves the outcome unknown until the next check", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { id } = await payments.charge("card_auth");
  changeResponses(payments, ({ gross_amount: _, ...answer }) => answer);
  const response = await payments.post(`/payments/${id}/capture/`, { amount: 10_000 });
  assert.equal((await assertProblem(response, 400, "gateway_error")).outcome, "unknown");
  passResponses(payments);
  await payments.check(id);
  assert.equal((await payments.read(id)).captured_amount, "10000.00");
});

Deno.test("charge: a response in another currency leaves the outcome unknown", async () => {
  await using payments = await openRelayed({ databaseUrl });
  changeResponses(payments, (answer) => ({ ...answer, currency: "USD" }));
  const response = await payments.post("/charge/", await chargeRequest(payments.sandbox, "bca"));
  assert.equal((await assertProblem(response, 400, "gateway_error")).outcome, "unknown");
});

Deno.test("charge and refund: very long ids from the gateway do not cause an internal error", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const body = await chargeRequest(payments.sandbox, "gopay");
  changeResponses(payments, (answer) => ({ ...answer, transaction_id: "x".repeat(20_000) }));
  const response = await payments.post("/charge/", body);
  assert.equal((await assertProblem(response, 400, "gateway_error")).outcome, "unknown");
  passResponses(payments);
  const { id } = await payments.paid("gopay");
  const refund = { refund_key: "x".repeat(20_000), refund_amount: "1000.00" };
  changeResponses(payments, (answer) => ({ ...answer, refunds: [refund] }));
  assert.equal((await payments.refresh(id)).refund_amount, "1000.00");
});

Deno.test("check_status and cancel: respond gateway_error if the gateway returns another payment's transaction", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { transaction_id } = await payments.charge("bca");
  await payments.sandbox.fault("charge", "answer_lost");
  const lostCharge = await (await payments.post(
    "/charge/",
    await chargeRequest(payments.sandbox, "bca"),
  )).json();
  changeResponses(payments, (answer) => ({ ...answer, transaction_id }));
  for (const [method, path] of [["GET", "check_status"], ["POST", "cancel"]]) {
    const response = await payments.app.as(
      payments.key,
      `/payments/${lostCharge.payment_id}/${path}/`,
      { method },
    );
    await assertProblem(response, 400, "gateway_error");
  }
  passResponses(payments);
  assert.equal((await payments.refresh(lostCharge.payment_id)).transaction_status, "pending");
});

Deno.test("refund and capture: an amount of null is the full amount", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { id } = await payments.paid("gopay");
  const authorized = await payments.charge("card_auth");
  for (const path of [`/payments/${id}/refund/`, `/payments/${authorized.id}/capture/`]) {
    const response = await payments.post(path, { amount: null });
    assert.equal(response.status, 200, await response.text());
  }
  assert.equal((await payments.refresh(id)).refund_amount, "44000.00");
  assert.equal((await payments.refresh(authorized.id)).captured_amount, "44000.00");
});

Deno.test("charge: a second charge of an order is rejected if the first one was marked as failed but succeeded late", async () => {
  await using timed = await openTimed();
  const { payments, time } = timed;
  const order_id = randomUUID();
  const body = { ...await chargeRequest(payments.sandbox, "bca"), order_id };
  // The gateway processes the charge only after 15 minutes; until then the caller sees an error.
  payments.relay.intercept = () => Response.json({ status_code: "500" });
  const firstProblem = await (await payments.post("/charge/", body)).json();
  const sent = JSON.parse(payments.relay.received.at(-1)!.body);
  passResponses(payments);
  time.now += 16 * MINUTE_MS;
  await payments.check(firstProblem.payment_id);
  assert.equal((await payments.read(firstProblem.payment_id)).transaction_status, "failure");
  await payments.sandbox.post("/v2/charge", sent);
  await assertProblem(await payments.post("/charge/", body), 400, "duplicate_order");
  time.now += MINUTE_MS;
  await runDueJobs(payments.app);
  const found = await payments.read(firstProblem.payment_id);
  assert.equal(found.transaction_status, "pending");
  assert.ok(found.va_number);
});

Deno.test("charge: rejects an order id that equals an existing transaction id", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { transaction_id } = await payments.charge("bca");
  const body = { ...await chargeRequest(payments.sandbox, "bca"), order_id: transaction_id };
  const mallory = await payments.app.createKey({ userId: "mallory" });
  await assertProblem(await payments.post("/charge/", body, {}, mallory), 400, "duplicate_order");
});

Deno.test("idempotency key: a lease that was set before the database's clock was set back by hours does not block retries", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const key = newKey();
  const body = await chargeRequest(payments.sandbox, "bca");
  const { id } = await parsePayment(await payments.post("/charge/", body, key), 201);
  await payments.app.database.query((sql) =>
    sql`update gateway.idempotency_keys
      set reply = null, lease_until = now() + interval '3 hours' where resource_id = ${id}`
  );
  const again = await parsePayment(await payments.post("/charge/", body, key), 201);
  assert.equal(again.id, id);
});

for (const offMinutes of [-60, 60]) {
  Deno.test(`idempotency key: an instance whose clock is off by ${offMinutes} minutes responds 409 while another instance holds the key`, async () => {
    await using payments = await openRelayed({ databaseUrl });
    await using otherInstance = await openApp({
      databaseUrl,
      serverKey: SERVER_KEY,
      gatewayUrl: payments.relay.url,
      now: () => Date.now() + offMinutes * MINUTE_MS,
    });
    const key = newKey();
    const body = await chargeRequest(payments.sandbox, "bca");
    const held = payments.relay.holdNext("POST /v2/charge");
    const firstRequest = payments.post("/charge/", body, key);
    await held.arrived;
    const concurrent = await otherInstance.as(payments.key, "/charge/", {
      method: "POST",
      headers: { ...key, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    await assertProblem(concurrent, 409, "idempotency_in_progress");
    held.release();
    await parsePayment(await firstRequest, 201);
    assert.equal(payments.relay.times("POST /v2/charge"), 1);
  });
}

Deno.test("refund: 60 concurrent refunds of one payment need on average fewer than 8 writes each", async () => {
  const statements = new Map<string, number>();
  await using payments = await openRelayed({
    databaseUrl,
    poolSize: 10,
    wrapDatabase: (database) => ({
      ...database,
      query(work, name = "query") {
        statements.set(name, (statements.get(name) ?? 0) + 1);
        return database.query(work, name);
      },
    }),
  });
  const { id } = await payments.paid("gopay");
  const before = statements.get("write payment") ?? 0;
  const REFUNDS = 60;
  const answers = await Promise.all(
    Array.from(
      { length: REFUNDS },
      () => payments.post(`/payments/${id}/refund/`, { amount: 100 }),
    ),
  );
  for (const answer of answers) {
    assert.equal(answer.status, 200);
    await answer.body?.cancel();
  }
  assert.equal((await payments.read(id)).refund_amount, `${REFUNDS * 100}.00`);
  const writes = statements.get("write payment")! - before;
  assert.ok(writes < REFUNDS * 8, `${writes} writes for ${REFUNDS} refunds`);
});
