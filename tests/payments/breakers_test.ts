import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import { expireStalePayments } from "../../core/payments/expire_stale_payments.ts";
import { StatusSchema } from "../../routes/status/schemas.ts";
import { createDatabase } from "../support/database/database.ts";
import { buildNotification, notifyAndRead } from "../support/gateway/notifications.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { ASYNC, parseAcceptedJob, readJob } from "../support/payments/async_requests.ts";
import { assertProblem } from "../support/problem.ts";
import { until } from "../support/until.ts";

const STATUS = "GET /v2/:id/status";
const CHARGE = { payment_type: "gopay", gross_amount: 1_000 };
const MINUTE = 60_000;

async function gatewayStates({ app, get }: RelayedPayments) {
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const status = StatusSchema.parse(await (await get("/status/", staff)).json());
  return [status.gateway, status.gateway_reads, status.gateway_writes];
}

async function openReadBreaker({ app, sandbox }: RelayedPayments): Promise<void> {
  await sandbox.fault("status", "reset", { count: 5 });
  for (let i = 0; i < 5; i++) await assert.rejects(app.gateway.getStatus("any"));
}

Deno.test("charge: succeeds although eight status checks for notifications just timed out", async () => {
  const deadlines: (() => void)[] = [];
  await using payments = await openRelayed({
    databaseUrl: await createDatabase(),
    env: { NOTIFICATION_CONFIRM: "paid" },
    gatewayOptions: {
      wait(_ms, signal) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        deadlines.push(resolve);
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        return promise;
      },
    },
  });
  const { app, relay } = payments;
  const charged = await Promise.all(Array.from({ length: 8 }, () => payments.charge("bca")));
  const released = Promise.withResolvers<void>();
  relay.intercept = async (_request, pass) => {
    await released.promise;
    return await pass();
  };
  deadlines.length = 0;
  const notified = charged.map((each) =>
    notifyAndRead(payments, buildNotification(each, "settlement"))
  );
  await until("the checks have arrived", () => relay.times(STATUS) === 8);
  deadlines.forEach((pass) => pass());
  for (const { status } of await Promise.all(notified)) assert.equal(status, "received");
  released.resolve();

  assert.equal(app.gateway.breakerState(), "closed");
  assert.equal((await payments.post("/charge/", CHARGE)).status, 201);
});

Deno.test("charge: succeeds while the circuit breaker for reads is open, and /status/ shows reads as down", async () => {
  await using payments = await openRelayed({ databaseUrl: await createDatabase() });
  const { app, post } = payments;
  const pendingPayment = await payments.charge();
  await openReadBreaker(payments);
  assert.deepEqual(await gatewayStates(payments), ["down", "down", "ok"]);
  await assertProblem(
    await payments.get(`/payments/${pendingPayment.id}/check_status/`),
    502,
    "gateway_unreachable",
  );
  assert.equal((await post("/charge/", CHARGE)).status, 201);
  const { id } = await parseAcceptedJob(await post("/charge/", CHARGE, ASYNC));
  await runDueJobs(app);
  assert.equal((await readJob(payments, id)).status, "succeeded");
});

Deno.test("check_payment_status: finds the result of a charge while the circuit breaker for writes is open", async () => {
  let now = Date.now();
  await using payments = await openRelayed({
    databaseUrl: await createDatabase(),
    now: () => now,
    // The breaker's clock stands still, so an open breaker stays open.
    gatewayOptions: { clock: () => 0 },
  });
  const { app, post, sandbox } = payments;
  const expiring = await payments.charge("gopay");
  await sandbox.fault("charge", "answer_lost");
  const order_id = randomUUID();
  const lostResponse = await post("/charge/", { ...CHARGE, order_id });
  const { payment_id } = await assertProblem(lostResponse, 502, "gateway_unreachable");
  await sandbox.fault("charge", "reset", { count: 4 });
  for (let i = 0; i < 4; i++) assert.equal((await post("/charge/", CHARGE)).status, 502);
  assert.deepEqual(await gatewayStates(payments), ["down", "ok", "down"]);

  now += 6 * MINUTE;
  assert.ok(await checkPendingPayments(app.service) > 0);
  await runDueJobs(app);
  const found = await payments.read(payment_id!);
  assert.deepEqual([found.transaction_status, found.order_id], ["pending", order_id]);
  assert.ok(found.transaction_id);
  // A sweep whose jobs begin with a write queues nothing; a job that begins with a write waits.
  now = Date.parse(expiring.expiry_time!) + 2 * MINUTE;
  assert.equal(await expireStalePayments(app.service), 0);
  const { id } = await parseAcceptedJob(await post("/charge/", CHARGE, ASYNC));
  await runDueJobs(app);
  const waitingJob = await readJob(payments, id);
  assert.deepEqual([waitingJob.status, waitingJob.attempts], ["queued", 0]);
});
