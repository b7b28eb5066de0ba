import assert from "node:assert/strict";
import { ClockSkewed } from "../../core/time/clock_check.ts";
import { createGatewayClock } from "../../core/gateway/gateway_clock.ts";
import { formatWib } from "../../core/gateway/times.ts";
import { firstIdAt } from "../../core/ids.ts";
import { PostponeJob } from "../../core/jobs/task.ts";
import {
  createExpireStalePayment,
  expireStalePayments,
} from "../../core/payments/expire_stale_payments.ts";
import { openApp, type TestAppOptions } from "../support/app.ts";
import { runSql } from "../support/database/database.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { SERVER_KEY } from "../support/gateway/sandbox.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { openPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const [SECOND_MS, MINUTE_MS] = [1_000, 60_000];

const EXPIRE = "POST /v2/:id/expire";
const STATUS = "GET /v2/:id/status";

interface SkewedPayments extends RelayedPayments {
  /** By how much the machine's clock is ahead, in milliseconds. */
  aheadMs: number;
  /** Like the end of a suspension: the machine's clock goes on, the monotonic clock stood still. */
  suspendedMs: number;
  /** Sets the expiry of all payments to an hour ago by the database's clock. */
  makeStale(): Promise<void>;
  /** The field `clock` in the response of `GET /status/`. */
  statusClock(): Promise<Record<string, unknown>>;
}

/** The test sets the machine's clocks; the clocks of the database and the gateway are correct. */
async function openSkewed(options: Partial<TestAppOptions> = {}): Promise<SkewedPayments> {
  const time = { aheadMs: 0, suspendedMs: 0 };
  const relayed = await openRelayed({
    machine: {
      wall: () => Date.now() + time.aheadMs,
      monotonic: () => performance.now() - time.suspendedMs,
    },
    gatewayOptions: { wait: createWaits().wait },
    ...options,
  });
  const staff = await relayed.app.createKey({ isStaff: true });
  return Object.assign(time, relayed, {
    makeStale: async () =>
      void await runSql(
        relayed.databaseUrl,
        "update gateway.payments set check_at = now(), expiry_time = now() - interval '1 hour'",
      ),
    statusClock: async () => (await (await relayed.get("/status/", staff)).json()).clock,
  });
}

/** Shifts the gateway's `Date` headers by `ms`. */
function shiftGatewayTime({ relay }: RelayedPayments, ms: number) {
  relay.intercept = async (_request, pass) => {
    const { body, status, headers } = await pass();
    headers.set("Date", new Date(Date.now() + ms).toUTCString());
    return new Response(body, { status, headers });
  };
}

for (const [name, sign] of [["ahead of", 1], ["behind", -1]] as const) {
  Deno.test(`expire_stale_payments: on a machine whose clock is ${name} the database's, expires what is stale by the database's clock and shows the difference in /status/`, async () => {
    await using skewed = await openSkewed();
    skewed.aheadMs = sign * 20 * MINUTE_MS;
    await skewed.charge("gopay");
    await runSql(skewed.databaseUrl, "update gateway.payments set check_at = now()");
    assert.equal(await expireStalePayments(skewed.app.service), 0);
    await skewed.makeStale();
    assert.equal(await expireStalePayments(skewed.app.service), 1);
    await runDueJobs(skewed.app);
    assert.equal(skewed.relay.times(EXPIRE), 1);
    const { is_accurate, database_offset_seconds } = await skewed.statusClock();
    assert.equal(is_accurate, false);
    assert.equal(Math.round(Number(database_offset_seconds) / 60), sign * 20);
  });
}

Deno.test("expire_stale_payments: on a machine that was suspended, expires nothing until the time is measured again", async () => {
  await using skewed = await openSkewed();
  await skewed.charge("gopay");
  await skewed.makeStale();
  skewed.suspendedMs = 20 * MINUTE_MS;
  await assert.rejects(expireStalePayments(skewed.app.service), ClockSkewed);
  assert.ok(skewed.app.logged().some(({ event }) => event === "clock_jumped"));
  assert.equal(await expireStalePayments(skewed.app.service), 1);
});

Deno.test("expire_stale_payments: with a clock that differs from the gateway's Date, expires nothing and shows the difference in /status/", async () => {
  await using skewed = await openSkewed();
  shiftGatewayTime(skewed, -30 * SECOND_MS);
  const payment = await skewed.charge("gopay");
  await skewed.makeStale();
  await assert.rejects(expireStalePayments(skewed.app.service), /s ahead of the gateway's/);
  const { is_accurate, gateway_offset_seconds } = await skewed.statusClock();
  assert.equal(is_accurate, false);
  assert.equal(Math.round(Number(gateway_offset_seconds) / 10), 3);
  assert.equal(skewed.relay.times(EXPIRE), 0);

  shiftGatewayTime(skewed, 0);
  await skewed.refresh(payment.id);
  await skewed.makeStale();
  assert.equal(await expireStalePayments(skewed.app.service), 1);
  await runDueJobs(skewed.app);
  assert.equal(skewed.relay.times(EXPIRE), 1);
  assert.equal((await skewed.statusClock()).is_accurate, true);
});

Deno.test("expire_stale_payment: a job that runs when the time has jumped only checks the payment", async () => {
  await using skewed = await openSkewed();
  const payment = await skewed.charge("gopay");
  await skewed.makeStale();
  skewed.suspendedMs = 20 * MINUTE_MS;
  const job = createExpireStalePayment(skewed.app.service);
  const { signal } = new AbortController();
  const row = { subject_id: payment.id } as Parameters<typeof job.run>[0];
  const before = skewed.relay.received.length;
  assert.deepEqual(await job.run(row, { signal, stopping: signal }), {
    transaction_status: "pending",
  });
  assert.deepEqual(skewed.relay.asked().slice(before), [STATUS]);
  assert.ok(skewed.app.logged().some(({ event }) => event === "clock_skewed"));
});

Deno.test("expire_stale_payment: an instance that has not seen the gateway's time checks the payment first", async () => {
  await using skewed = await openSkewed();
  const payment = await skewed.charge("gopay");
  await skewed.makeStale();
  await using restarted = await openApp({
    databaseUrl: skewed.databaseUrl,
    gatewayUrl: skewed.relay.url,
    serverKey: SERVER_KEY,
  });
  const job = createExpireStalePayment(restarted.service);
  const { signal } = new AbortController();
  const row = { subject_id: payment.id } as Parameters<typeof job.run>[0];
  const before = skewed.relay.received.length;
  await job.run(row, { signal, stopping: signal });
  assert.deepEqual(skewed.relay.asked().slice(before), [STATUS, EXPIRE]);
});

/** Sends a charge that is not answered. `reset`: the gateway does not get it. */
async function chargeWithoutResponse(
  { post, sandbox }: SkewedPayments,
  fault: "answer_lost" | "reset",
): Promise<string> {
  await sandbox.fault("charge", fault);
  const answer = await post("/charge/", { payment_type: "gopay", gross_amount: 44_000 });
  return (await assertProblem(answer, 502, "gateway_unreachable")).payment_id!;
}

for (const [name, sign] of [["ahead", 1], ["behind", -1]] as const) {
  Deno.test(`unanswered charge: is found by an instance whose clock is ten minutes ${name}`, async () => {
    await using skewed = await openSkewed();
    skewed.aheadMs = sign * 10 * MINUTE_MS;
    const id = await chargeWithoutResponse(skewed, "answer_lost");
    await skewed.check(id);
    assert.notEqual((await skewed.read(id)).transaction_id, null);
    const found = skewed.app.logged().find(({ event }) => event === "transaction_found");
    assert.deepEqual([found?.match, found?.evidence], ["ours", "order_and_time"]);
  });

  Deno.test(`unanswered charge: a transaction of another time is not taken over by an instance whose clock is ten minutes ${name}`, async () => {
    await using skewed = await openSkewed();
    skewed.aheadMs = sign * 10 * MINUTE_MS;
    const id = await chargeWithoutResponse(skewed, "answer_lost");
    for (const minutes of [-20, -5, 5, 20]) {
      shiftTransactionTime(skewed, minutes * MINUTE_MS);
      await assert.rejects(skewed.check(id), PostponeJob);
    }
    assert.equal((await skewed.read(id)).transaction_id, null);
  });
}

/** Shifts the transaction time in the gateway's status responses by `ms`. */
function shiftTransactionTime({ relay }: RelayedPayments, ms: number) {
  relay.intercept = async (request, pass) => {
    const response = await pass();
    if (request.method !== "GET") return response;
    const transaction_time = formatWib(new Date(Date.now() + ms)).slice(0, 19);
    return Response.json({ ...await response.json(), transaction_time });
  };
}

for (const minutes of [-20, -2, 2, 20]) {
  Deno.test(`unanswered charge: an instance whose clock is wrong by ${minutes} minutes waits for the whole grace period`, async () => {
    await using skewed = await openSkewed();
    skewed.aheadMs = minutes * MINUTE_MS;
    const id = await chargeWithoutResponse(skewed, "reset");
    skewed.aheadMs = 0;
    await assert.rejects(skewed.check(id), PostponeJob);
    skewed.aheadMs = -minutes * MINUTE_MS;
    await assert.rejects(skewed.check(id), PostponeJob);
    assert.equal((await skewed.read(id)).transaction_status, "pending");
    await runSql(
      skewed.databaseUrl,
      "update gateway.payments set sent_at = now() - interval '20 minutes'",
    );
    await skewed.check(id);
    assert.equal((await skewed.read(id)).transaction_status, "failure");
  });
}

Deno.test("refund list: with created_from, has the refund of an instance whose machine's clock is 20 minutes behind", async () => {
  await using payments = await openPayments({ now: () => Date.now() + 20 * MINUTE_MS });
  const { id } = await payments.paid("gopay");
  const made = await payments.post(`/payments/${id}/refund/`, { amount: 1_000 });
  assert.equal(made.status, 200, await made.clone().text());
  const [refund] = await (await payments.get(`/refunds/?payment_id=${id}`)).json();
  const since = await payments.get(`/refunds/?created_from=${refund.created_at}`);
  assert.deepEqual(await since.json(), [refund]);
});

Deno.test("refund: the id of one made in the gateway's dashboard has the service's time, not the machine's", async () => {
  await using payments = await openPayments({ now: () => Date.now() + 20 * MINUTE_MS });
  const { id, transaction_id } = await payments.paid("gopay");
  const elsewhere = { refund_key: "dashboard-1", amount: 1_000 };
  const firstId = firstIdAt(new Date(Date.now() + 20 * MINUTE_MS));
  await payments.sandbox.post(`/v2/${transaction_id}/refund`, elsewhere);
  await payments.refresh(id);
  const [refund] = await (await payments.get(`/refunds/?payment_id=${id}`)).json();
  assert.ok(refund.id >= firstId, `${refund.id} is below ${firstId}`);
});

Deno.test("gateway clock: the duration of a call does not count as a clock difference", () => {
  const clock = createGatewayClock();
  assert.equal(clock.now(), null);
  clock.observe("not a date", 0);
  clock.observe(null, 0);
  assert.equal(clock.now(), null);
  const sentAt = Date.now() - 10 * SECOND_MS;
  clock.observe(new Date(sentAt).toUTCString(), 10 * SECOND_MS);
  const before = Date.now();
  const { earliest, latest } = clock.now()!;
  assert.ok(earliest <= Date.now() && before <= latest);
});
