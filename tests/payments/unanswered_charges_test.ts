import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { PostponeJob } from "../../core/jobs/task.ts";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import { openApp, type TestApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
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

/** A charge whose answer is lost (it was made) or that never arrived (`reset`); the payment's id. */
async function chargeInVain(
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

/** The gateway's answers to who asks for a status, changed. */
function alterStatus({ relay }: RelayedPayments, alter: (answer: Json) => Json): void {
  relay.intercept = async (request, pass) => {
    const answer = await pass();
    return request.method === "GET" ? Response.json(alter(await answer.json())) : answer;
  };
}

/** So long after the payment was made. */
async function after({ read }: RelayedPayments, id: string, minutes: number): Promise<number> {
  return Date.parse((await read(id)).created_at) + minutes * MINUTE_MS;
}

Deno.test("a charge whose answer was lost is found and taken over, whatever its type", async (t) => {
  await using payments = await openRelayed({ databaseUrl });
  const { sandbox } = payments;
  for (const kind of CHARGE_KINDS.filter((each) => each !== "dana")) {
    await t.step(kind, async () => {
      const order_id = randomUUID();
      const body = { ...await chargeRequest(sandbox, kind), order_id };
      const id = await chargeInVain(payments, "answer_lost", body);
      await payments.check(id);
      const found = await payments.read(id);
      const [transaction] = await payments.transactions(order_id);
      assert.equal(found.transaction_id, transaction.transaction_id);
      assert.equal(found.transaction_status, transaction.transaction_status);
      assert.equal((await payments.events(id)).length, 1);
    });
  }
});

Deno.test("what the customer paid meanwhile is paid when it is found", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const order_id = randomUUID();
  const id = await chargeInVain(payments, "answer_lost", {
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

/** By these it is somebody else's, though of the same order, amount and type. */
const STRANGERS: Record<string, Json> = {
  "of another payment of ours": { metadata: { payment_ref: randomUUID() } },
  "without a reference": { metadata: null },
  "with a reference that is no text": { metadata: { payment_ref: [1] } },
};

/** These bear our reference, and are not what was charged: nobody can say what they are. */
const RIDDLES: Record<string, Json> = {
  "of a smaller amount": { gross_amount: "43999.00" },
  "of a larger amount": { gross_amount: "44001.00" },
  "of another type": { payment_type: "bank_transfer" },
  "in a state that nobody knows": { transaction_status: "dreaming" },
};

Deno.test("a transaction of the same order is taken over only if all of it agrees", async (t) => {
  for (const [what, change] of Object.entries({ ...STRANGERS, ...RIDDLES })) {
    await t.step(what, async () => {
      let now = Date.now();
      await using payments = await openRelayed({ databaseUrl, now: () => now });
      const order_id = randomUUID();
      const id = await chargeInVain(payments, "answer_lost", {
        payment_type: "gopay",
        gross_amount: 44_000,
        order_id,
      });
      await payments.sandbox.control(`transactions/${order_id}/pay`);
      const { intercept } = payments.relay;
      alterStatus(payments, (answer) => merge(answer, change));
      const isRiddle = Object.hasOwn(RIDDLES, what);
      await assert.rejects(payments.check(id), {
        name: isRiddle ? "GatewayAPIError" : "PostponeJob",
      });
      const waiting = await payments.read(id);
      assert.deepEqual(
        [waiting.transaction_status, waiting.transaction_id, waiting.is_paid],
        ["pending", null, false],
      );

      now = await after(payments, id, 16);
      if (isRiddle) {
        // Not given up either: as soon as it makes sense, it is ours.
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

Deno.test("an order that somebody else has paid at the gateway never makes a payment paid", async (t) => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { post, sandbox } = payments;

  async function paidByAnother(): Promise<Json> {
    const order_id = randomUUID();
    await sandbox.paid("gopay", { transaction_details: { order_id } });
    return { payment_type: "gopay", gross_amount: 44_000, order_id };
  }

  async function assertNeverPaid(id: string): Promise<void> {
    for (const check of [payments.refresh, payments.check]) {
      await check(id);
      const payment = await payments.read(id);
      assert.equal(payment.transaction_status, "failure");
      assert.equal(payment.transaction_id, null);
      assert.equal(payment.is_paid, false);
    }
    assert.deepEqual(await payments.events(id), ["payment_failed"]);
  }

  await t.step("the gateway says so", async () => {
    const problem = await assertProblem(
      await post("/charge/", await paidByAnother()),
      400,
      "duplicate_order",
    );
    assert.equal(problem.outcome, "refused");
    await assertNeverPaid(problem.payment_id!);
  });

  await t.step("the charge did not arrive, and a task looks", async () => {
    const id = await chargeInVain(payments, "reset", await paidByAnother());
    await assert.rejects(payments.check(id), PostponeJob);
    now = await after(payments, id, 16);
    await payments.check(id);
    await assertNeverPaid(id);
  });

  await t.step("the charge did not arrive, and is sent again", async () => {
    const body = await paidByAnother();
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
    await assertNeverPaid(payment_id);
  });

  await t.step("somebody is asked to cancel, expire or refund it", async () => {
    const body = await paidByAnother();
    const id = await chargeInVain(payments, "reset", body);
    for (const action of ["cancel", "expire", "refund"]) {
      await assertProblem(await post(`/payments/${id}/${action}/`), 400, "invalid_state");
    }
    const [theirs] = await payments.transactions(body.order_id);
    assert.equal(theirs.transaction_status, "settlement");
  });
});

Deno.test("that the gateway knows no such order proves nothing for 15 minutes, then that it was not made", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const body = { payment_type: "gopay", gross_amount: 44_000 };
  const id = await chargeInVain(payments, "reset", body);
  for (const early of [0, 1, 14.9]) {
    now = await after(payments, id, early);
    const putOff = await payments.check(id).then(() => assert.fail(), (error) => error);
    assert.ok(putOff instanceof PostponeJob);
    assert.equal(putOff.until.getTime(), await after(payments, id, 15));
    assert.equal((await payments.read(id)).transaction_status, "pending");
    assert.equal((await payments.refresh(id)).transaction_status, "pending");
  }
  now = await after(payments, id, 15);
  await payments.check(id);
  const payment = await payments.read(id);
  assert.equal(payment.transaction_status, "failure");
  assert.equal(payment.is_failed, true);
  assert.deepEqual(await payments.events(id), ["payment_failed"]);
  assert.deepEqual(
    await payments.story(id),
    [">pending charge", "pending>failure check_payment_status"],
  );
});

Deno.test("looking does not fail a payment, however late; that is the task's to do", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const body = { payment_type: "gopay", gross_amount: 44_000 };
  const id = await chargeInVain(payments, "reset", body);
  now += HOUR_MS;
  const answer = await (await payments.get(`/payments/${id}/check_status/`)).json();
  assert.equal(answer.gateway_response, null);
  assert.equal(answer.payment.transaction_status, "pending");
});

Deno.test("a charge that went through after all comes back from its failure", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const body = { payment_type: "gopay", gross_amount: 44_000, order_id: randomUUID() };
  const id = await chargeInVain(payments, "answer_lost", body);
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

Deno.test("a second charge of an order whose first is unknown is blocked; when the first settles, one is paid", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post, sandbox } = payments;
  const body = { payment_type: "gopay", gross_amount: 44_000, order_id: randomUUID() };
  const id = await chargeInVain(payments, "answer_lost", body);
  const second = await post("/charge/", body);
  await assertProblem(second, 400, "duplicate_order");
  await sandbox.control(`transactions/${body.order_id}/pay`);
  await payments.check(id);
  assert.equal((await payments.read(id)).transaction_status, "settlement");
  assert.equal((await payments.transactions(body.order_id)).length, 1);
});

Deno.test("a payment the gateway has known keeps its state when it is not found, and raises an alert", async (t) => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { app } = payments;
  const all = {
    pending: await payments.charge("bca"),
    authorize: await payments.charge("card_auth"),
    settlement: await payments.paid("gopay"),
  };
  alterStatus(payments, () => NOT_FOUND);
  for (const [status, { id }] of Object.entries(all)) {
    await t.step(status, async () => {
      for (const later of [0, 20 * MINUTE_MS, 30 * HOUR_MS]) {
        now += later;
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

/** A day of the schedule: sweeps, and whatever is due in between. */
async function liveADay(app: TestApp, tick: (ms: number) => void): Promise<number> {
  let runs = 0;
  for (let minute = 0; minute < 24 * 60; minute += 20) {
    tick(20 * MINUTE_MS);
    await checkPendingPayments(app.deps);
    runs += await runDueJobs(app);
  }
  return runs;
}

for (
  const [what, gateway] of Object.entries({
    "a wrong server key": { serverKey: "SB-Mid-server-other" },
    "the key of another merchant": {},
  })
) {
  Deno.test(`every pending payment survives a day with ${what}`, async () => {
    // A sweep takes all there is: it needs a database of its own.
    const databaseUrl = await createDatabase();
    let now = Date.now();
    await using payments = await openRelayed({ databaseUrl, now: () => now });
    const { sandbox, relay } = payments;
    const known = await Promise.all(
      (["bca", "gopay", "card_auth", "qris", "dana"] as const).map((kind) => payments.charge(kind)),
    );
    // A wrong key cannot prove that a charge was never made; another merchant's can.
    const isKeyRefused = "serverKey" in gateway;
    const lost = await chargeInVain(payments, "answer_lost", {
      payment_type: "gopay",
      gross_amount: 44_000,
    });
    const before = await Promise.all(known.map(({ id }) => payments.read(id)));

    if (!isKeyRefused) alterStatus(payments, () => NOT_FOUND);
    await using wrong = await openApp({
      databaseUrl,
      gatewayUrl: relay.url,
      serverKey: SERVER_KEY,
      ...gateway,
      now: () => now,
    });
    const asked = relay.received.length;
    const runs = await liveADay(wrong, (ms) => now += ms);
    assert.ok(runs > 50 && relay.received.length - asked > 50, "they were looked at");
    for (const [index, { id }] of known.entries()) {
      assert.deepEqual(
        { ...await payments.read(id), updated_at: null },
        { ...before[index], updated_at: null },
      );
    }
    assert.equal(
      (await payments.read(lost)).transaction_status,
      isKeyRefused ? "pending" : "failure",
    );

    relay.intercept = (_, pass) => pass();
    for (const { id, transaction_id } of known) {
      const { transaction_status } = await sandbox.status(transaction_id!);
      const refreshed = await payments.refresh(id);
      assert.equal(refreshed.transaction_status, transaction_status.toLowerCase());
    }
    assert.equal((await payments.refresh(lost)).transaction_status, "pending");
    assert.ok((await payments.read(lost)).transaction_id);
  });
}

Deno.test("an unknown charge is resolved by the schedule alone", async () => {
  const databaseUrl = await createDatabase();
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { app } = payments;
  const body = { payment_type: "gopay", gross_amount: 44_000 };
  const made = await chargeInVain(payments, "answer_lost", body);
  const never = await chargeInVain(payments, "reset", body);
  // Even where the job that was left behind is lost.
  await app.database.query((sql) => sql`delete from gateway.jobs`);
  for (let minute = 0; minute < 20; minute += 5) {
    now += 5 * MINUTE_MS;
    await checkPendingPayments(app.deps);
    await runDueJobs(app);
  }
  const found = await payments.read(made);
  assert.ok(found.transaction_id);
  assert.equal(found.transaction_status, "pending");
  assert.equal((await payments.read(never)).transaction_status, "failure");
});

Deno.test("a look that fails is taken again", async () => {
  const databaseUrl = await createDatabase();
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const { app, sandbox } = payments;
  const body = { payment_type: "gopay", gross_amount: 44_000 };
  const id = await chargeInVain(payments, "answer_lost", body);
  // A read is tried four times by itself.
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

Deno.test("DANA is not found by its order, so that 15 minutes prove nothing; a day does", async () => {
  let now = Date.now();
  await using payments = await openRelayed({ databaseUrl, now: () => now });
  const body = { payment_type: "dana", gross_amount: 44_000 };
  const id = await chargeInVain(payments, "answer_lost", body);
  for (const hours of [0.5, 12, 24]) {
    now = await after(payments, id, hours * 60);
    await assert.rejects(payments.check(id), PostponeJob);
    assert.equal((await payments.read(id)).transaction_status, "pending");
  }
  now = await after(payments, id, 26 * 60);
  await payments.check(id);
  assert.equal((await payments.read(id)).transaction_status, "failure");
});

Deno.test("DANA sent again under its key is one transaction: found at once, or left open later", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { post, sandbox } = payments;
  for (const isLater of [false, true]) {
    const body = { payment_type: "dana", gross_amount: 44_000, order_id: randomUUID() };
    const headers = newKey();
    await sandbox.fault("charge", "answer_lost");
    const { payment_id } = await (await post("/charge/", body, headers)).json();
    // By then the gateway's own idempotency has forgotten the first time.
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
