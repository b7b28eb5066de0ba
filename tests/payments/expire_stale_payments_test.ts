import assert from "node:assert/strict";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import { expireStalePayments } from "../../core/payments/expire_stale_payments.ts";
import { openApp, REAL_INSTALLATION } from "../support/app.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { notify } from "../support/gateway/notifications.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { SERVER_KEY } from "../support/gateway/sandbox.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import type { Payment } from "../support/payments/payments.ts";

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];

const EXPIRE = "POST /v2/:id/expire";
const STATUS = "GET /v2/:id/status";

interface StalePayments extends RelayedPayments {
  /** Advances the app's clock only, not the gateway's. */
  advance(ms: number): void;
  /** Sets the app's clock to `ms` after the payment's expiry time. */
  advanceToExpiry(payment: Payment, ms?: number): void;
  /** Runs the task and all due jobs; returns the number of jobs that the task enqueued. */
  sweep(): Promise<number>;
  /** The gateway calls since the last sweep started. */
  calls(): string[];
}

async function openStalePayments(): Promise<StalePayments> {
  let aheadMs = 0;
  let callsBefore = 0;
  const relayed = await openRelayed({
    now: () => Date.now() + aheadMs,
    gatewayOptions: { wait: createWaits().wait },
  });
  const { app, relay } = relayed;
  return {
    ...relayed,
    advance: (ms) => void (aheadMs += ms),
    advanceToExpiry: ({ expiry_time }, ms = MINUTE_MS) =>
      void (aheadMs += Date.parse(expiry_time!) + ms - app.service.clock()),
    async sweep() {
      callsBefore = relay.received.length;
      const queued = await expireStalePayments(app.service);
      while (await runDueJobs(app) > 0);
      return queued;
    },
    calls: () => relay.asked().slice(callsBefore),
  };
}

Deno.test("expire_stale_payments: expires an overdue payment at the gateway once and sends the event", async () => {
  await using stale = await openStalePayments();
  const payment = await stale.charge("gopay");
  stale.advanceToExpiry(payment);
  assert.equal(await stale.sweep(), 1);
  assert.deepEqual(stale.calls(), [EXPIRE]);
  assert.equal((await stale.sandbox.status(payment.transaction_id!)).transaction_status, "expire");
  const { is_expired, is_pending } = await stale.read(payment.id);
  assert.deepEqual([is_expired, is_pending], [true, false]);
  assert.deepEqual(await stale.transitions(payment.id), [
    ">pending charge",
    "pending>expire expire_stale_payments",
  ]);
  assert.deepEqual(await stale.events(payment.id), ["payment_received", "payment_expired"]);

  stale.advance(HOUR_MS);
  assert.equal(await stale.sweep(), 0);
  assert.deepEqual(stale.calls(), []);
});

Deno.test("expire_stale_payments: waits until one minute after the expiry time", async () => {
  await using stale = await openStalePayments();
  const [shortLived, longLived] = [await stale.charge("gopay"), await stale.charge("bca")];
  for (const ms of [-MINUTE_MS, 0, MINUTE_MS - 10 * SECOND_MS]) {
    stale.advanceToExpiry(shortLived, ms);
    assert.equal(await stale.sweep(), 0);
  }
  stale.advance(HOUR_MS);
  assert.equal(await stale.sweep(), 1, "only the payment whose expiry time has passed");
  assert.equal((await stale.read(longLived.id)).transaction_status, "pending");
});

Deno.test("expire_stale_payments: expires a payment on time although its next check is hours away", async () => {
  await using stale = await openStalePayments();
  const payment = await stale.charge("bca");
  stale.advance(20 * HOUR_MS);
  assert.equal(await checkPendingPayments(stale.app.service), 1);
  await runDueJobs(stale.app);
  // By the payment's age alone, the next check would be five hours later.
  stale.advanceToExpiry(payment);
  assert.equal(await stale.sweep(), 1);
  assert.equal((await stale.read(payment.id)).transaction_status, "expire");
});

Deno.test("expire_stale_payments: stores the gateway's state if the gateway refuses to expire the payment", async (test) => {
  await test.step("already expired at the gateway", async () => {
    await using stale = await openStalePayments();
    const payment = await stale.charge("gopay");
    await stale.sandbox.advance(HOUR_MS / SECOND_MS);
    stale.advanceToExpiry(payment);
    await stale.sweep();
    assert.deepEqual(stale.calls(), [EXPIRE, STATUS]);
    assert.deepEqual(await stale.events(payment.id), ["payment_received", "payment_expired"]);
  });

  await test.step("paid just before its expiry", async () => {
    await using stale = await openStalePayments();
    const payment = await stale.charge("gopay");
    await stale.sandbox.control(`transactions/${payment.transaction_id}/pay`);
    stale.advanceToExpiry(payment);
    await stale.sweep();
    assert.deepEqual(stale.calls(), [EXPIRE, STATUS]);
    assert.equal((await stale.read(payment.id)).is_paid, true);
    assert.deepEqual(await stale.events(payment.id), ["payment_received", "payment_settled"]);
  });

  await test.step("refused without a reason", async () => {
    await using stale = await openStalePayments();
    const payment = await stale.charge("gopay");
    stale.relay.intercept = async (request, pass) =>
      request.method === "POST"
        ? Response.json({ status_code: "412", status_message: "Merchant cannot modify" })
        : await pass();
    stale.advanceToExpiry(payment);
    assert.equal(await stale.sweep(), 1);
    assert.equal((await stale.read(payment.id)).transaction_status, "pending");
    // The next sweep does not try again; a sweep an hour later does.
    stale.advance(2 * MINUTE_MS);
    assert.equal(await stale.sweep(), 0);
    stale.advance(HOUR_MS);
    assert.equal(await stale.sweep(), 1);
  });
});

Deno.test("expire_stale_payments: keeps a payment that is paid before the gateway receives the expire request", async () => {
  await using stale = await openStalePayments();
  const payment = await stale.charge("gopay");
  stale.advanceToExpiry(payment);
  const held = stale.relay.holdNext(EXPIRE);
  const swept = stale.sweep();
  await held.arrived;
  await stale.sandbox.control(`transactions/${payment.transaction_id}/pay`);
  await stale.sandbox.waitForWebhooks();
  await notify(stale, stale.sandbox.hooks.at(-1)!.body);
  assert.equal((await stale.read(payment.id)).is_paid, true);
  held.release();
  await swept;
  assert.deepEqual(await stale.events(payment.id), ["payment_received", "payment_settled"]);
});

Deno.test("expire_stale_payments: an outdated expire response does not undo a settlement", async () => {
  await using stale = await openStalePayments();
  const payment = await stale.charge("gopay");
  stale.advanceToExpiry(payment);
  const held = stale.relay.holdAnswer(EXPIRE);
  const swept = stale.sweep();
  await held.arrived;
  // The gateway may revive an expired transaction whose money arrived late.
  stale.relay.intercept = async ({ method }, pass) => {
    const answer = await (await pass()).json();
    const revived = { transaction_status: "settlement", status_code: "200" };
    return Response.json(method === "GET" ? { ...answer, ...revived } : answer);
  };
  assert.equal((await stale.refresh(payment.id)).is_paid, true);
  held.release();
  await swept;
  assert.equal((await stale.read(payment.id)).is_paid, true);
  assert.deepEqual(await stale.events(payment.id), ["payment_received", "payment_settled"]);
});

Deno.test("expire_stale_payments: keeps a payment that the gateway does not find and logs an error", async () => {
  await using stale = await openStalePayments();
  const payment = await stale.charge("gopay");
  stale.relay.intercept = () =>
    Response.json({ status_code: "404", status_message: "Transaction doesn't exist." });
  stale.advanceToExpiry(payment);
  assert.equal(await stale.sweep(), 1);
  assert.deepEqual(stale.calls(), [EXPIRE, STATUS]);
  assert.equal((await stale.read(payment.id)).transaction_status, "pending");
  const alerts = stale.app.logged().filter(({ event }) =>
    event === "transaction_unknown_to_gateway"
  );
  assert.deepEqual(alerts.map(({ payment_id }) => payment_id), [payment.id]);
  const [job] = await jobsOf(stale.app, payment.id);
  assert.match(job!.error!, /doesn't exist/);
});

Deno.test("expire_stale_payments: skips a charge without a response, which check_payment_status resolves", async () => {
  await using stale = await openStalePayments();
  stale.relay.intercept = () => new Response("<h1>Bad Gateway</h1>", { status: 502 });
  const response = await stale.post("/charge/", { payment_type: "gopay", gross_amount: 44_000 });
  const { payment_id, outcome } = await response.json();
  assert.equal(outcome, "unknown");
  stale.relay.intercept = (_, pass) => pass();
  stale.advance(HOUR_MS);
  assert.equal(await expireStalePayments(stale.app.service), 0);
  while (await runDueJobs(stale.app) > 0);
  assert.equal(stale.relay.times(EXPIRE), 0);
  assert.equal((await stale.read(payment_id)).transaction_status, "failure");
});

Deno.test("expire_stale_payments: retries after a gateway failure and expires the payment once", async () => {
  await using stale = await openStalePayments();
  const payment = await stale.charge("gopay");
  stale.advanceToExpiry(payment);
  stale.relay.intercept = async ({ method }, pass) => {
    if (method === "POST") await (await pass()).body?.cancel();
    return new Response("<h1>Bad Gateway</h1>", { status: 502 });
  };
  await stale.sweep();
  assert.equal((await stale.read(payment.id)).transaction_status, "pending");
  stale.relay.intercept = (_, pass) => pass();
  stale.advance(2 * MINUTE_MS);
  while (await runDueJobs(stale.app) > 0);
  assert.deepEqual(await stale.events(payment.id), ["payment_received", "payment_expired"]);
});

Deno.test("expire_stale_payments: concurrent instances expire each payment once", async () => {
  await using stale = await openStalePayments();
  const payments = await Promise.all(Array.from({ length: 20 }, () => stale.charge("gopay")));
  // The charges may take longer than a second, so the last one is not always the last to expire.
  stale.advanceToExpiry(payments.at(-1)!, MINUTE_MS + 10 * SECOND_MS);
  const open = () =>
    openApp({
      databaseUrl: stale.databaseUrl,
      gatewayUrl: stale.relay.url,
      serverKey: SERVER_KEY,
      env: REAL_INSTALLATION,
      now: stale.app.service.clock,
    });
  await using secondApp = await open();
  await using thirdApp = await open();
  const apps = [stale.app, secondApp, thirdApp];
  await Promise.all(apps.map(({ service }) => expireStalePayments(service)));
  await Promise.all(apps.map(runDueJobs));
  while (await runDueJobs(stale.app) > 0);
  for (const { id } of payments) {
    assert.deepEqual(await stale.events(id), ["payment_received", "payment_expired"]);
  }
});

Deno.test("check_pending_payments: leaves overdue payments to expire_stale_payments for ten minutes", async () => {
  await using stale = await openStalePayments();
  const payment = await stale.charge("gopay");
  // A check just before the expiry time schedules the next one at the expiry time.
  stale.advanceToExpiry(payment, -SECOND_MS);
  assert.equal(await checkPendingPayments(stale.app.service), 1);
  await runDueJobs(stale.app);
  stale.advanceToExpiry(payment, MINUTE_MS + SECOND_MS);
  assert.equal(await checkPendingPayments(stale.app.service), 0);
  stale.advance(11 * MINUTE_MS);
  assert.equal(await checkPendingPayments(stale.app.service), 1);
});
