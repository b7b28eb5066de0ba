import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { checkPaidPayments } from "../../core/payments/check_paid_payments.ts";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import { insertJobs, LANES } from "../../db/jobs/jobs.ts";
import { openApp, type TestAppOptions } from "../support/app.ts";
import { runSql } from "../support/database/database.ts";
import { SERVER_KEY } from "../support/gateway/sandbox.ts";
import { newJob } from "../support/jobs/jobs.ts";
import type { ChargeKind, Payment } from "../support/payments/payments.ts";
import {
  DAY,
  HOUR,
  MINUTE,
  openSubscriptions,
  type TestSubscriptions,
} from "../support/records/subscriptions.ts";

const STATUS = "GET /v2/:id/status";

interface PaidPayments extends TestSubscriptions {
  /** Runs the task; returns the number of status calls. */
  sweep(): Promise<number>;
  /** A change at the gateway whose notification is lost. */
  change(payment: Payment, action: string): Promise<void>;
}

/** Notifications do not arrive, and the clocks of the app and the gateway move together. */
async function openPaid(options: Partial<TestAppOptions> = {}): Promise<PaidPayments> {
  const opened = await openSubscriptions(options);
  const { app, relay, sandbox } = opened;
  return {
    ...opened,
    async sweep() {
      const before = relay.times(STATUS);
      await checkPaidPayments(app.service);
      return relay.times(STATUS) - before;
    },
    change: async ({ transaction_id }, action) =>
      void await sandbox.control(`transactions/${transaction_id}/${action}`),
  };
}

/** The days after the payment at which the task calls the gateway, up to the last day. */
async function checkedDays(paid: PaidPayments, lastDay: number): Promise<number[]> {
  const days: number[] = [];
  for (let day = 1; day <= lastDay; day++) {
    await paid.advance(DAY);
    if (await paid.sweep() > 0) days.push(day);
  }
  return days;
}

const reversible: [string, ChargeKind, object][] = [
  ["Permata", "permata", {}],
  ["Mandiri bill", "echannel", {}],
  ["Indomaret", "cstore", { store: "indomaret" }],
];
for (const [name, kind, more] of reversible) {
  Deno.test(`check_paid_payments: finds a reversal of ${name} without a notification ten minutes after the payment, not earlier`, async () => {
    await using paid = await openPaid();
    const payment = await paid.paid(kind, more);
    await paid.change(payment, "reverse");
    await paid.advance(9 * MINUTE);
    assert.equal(await paid.sweep(), 0);
    await paid.advance(MINUTE);
    assert.equal(await paid.sweep(), 1);
    assert.equal((await paid.read(payment.id)).transaction_status, "deny");
    assert.deepEqual(
      (await paid.transitions(payment.id)).at(-1),
      "settlement>deny check_paid_payments",
    );
    assert.deepEqual((await paid.events(payment.id)).slice(-2), [
      "payment_settled",
      "payment_denied",
    ]);
    await paid.advance(DAY);
    assert.equal(await paid.sweep(), 0, "a final payment is not checked again");
  });
}

Deno.test("check_paid_payments: makes no call for methods that can be neither reversed nor refunded", async () => {
  await using paid = await openPaid();
  for (const kind of ["bca", "bni", "bri"] satisfies ChargeKind[]) await paid.paid(kind);
  await paid.paid("cstore", { store: "alfamart" });
  await paid.advance(HOUR);
  assert.equal(await paid.sweep(), 0);
  await paid.advance(8 * DAY);
  assert.equal(await paid.sweep(), 0);
});

const schedules: [string, ChargeKind, number[]][] = [
  ["GoPay", "gopay", [1, 7, 46, 181]],
  ["QRIS", "qris", [1, 7, 46, 366]],
  ["ShopeePay", "shopeepay", [1, 7, 366]],
  ["OVO", "ovo", [1, 7, 8]],
  ["Kredivo", "kredivo", [1, 7, 15]],
];
const titles = schedules.map(([name, , days]) => `${name} ${days.join(", ")}`).join("; ");

Deno.test(`check_paid_payments: checks each method on its days after the payment (${titles})`, async () => {
  await using paid = await openPaid();
  const namesById = new Map<string, string>();
  for (const [name, kind] of schedules) {
    namesById.set((await paid.paid(kind)).transaction_id!, name);
  }
  const found: Record<string, number[]> = {};
  const lastDay = Math.max(...schedules.flatMap(([, , days]) => days)) + 20;
  for (let day = 1; day <= lastDay; day++) {
    await paid.advance(DAY);
    const before = paid.relay.received.length;
    await paid.sweep();
    for (const { target } of paid.relay.received.slice(before)) {
      const name = namesById.get(target.split("/")[2]!);
      assert.ok(name, target);
      (found[name] ??= []).push(day);
    }
  }
  assert.deepEqual(found, Object.fromEntries(schedules.map(([name, , days]) => [name, days])));
});

Deno.test("check_paid_payments: checks cards weekly for 120 days and after the refund window, and finds a late chargeback", async () => {
  await using paid = await openPaid();
  const [undisputed, disputed] = [await paid.paid("card"), await paid.paid("card")];
  const weekly = Array.from({ length: 17 }, (_, week) => 7 * (week + 1));
  assert.deepEqual(await checkedDays(paid, 118), [1, ...weekly.slice(0, -1)]);
  await paid.change(disputed, "chargeback");
  assert.deepEqual(await checkedDays(paid, 82), [119, 120, 181].map((day) => day - 118));
  assert.equal((await paid.read(disputed.id)).transaction_status, "chargeback");
  assert.deepEqual((await paid.events(disputed.id)).slice(-1), ["payment_refunded"]);
  assert.equal((await paid.read(undisputed.id)).transaction_status, "settlement");
});

Deno.test("check_paid_payments: makes no call for payments that are fully refunded, charged back or reversed", async () => {
  await using paid = await openPaid();
  const refunded = await paid.paid("gopay");
  await paid.sandbox.post(`/v2/${refunded.transaction_id}/refund`, {});
  const disputed = await paid.paid("card");
  await paid.change(disputed, "chargeback");
  const reversed = await paid.paid("permata");
  await paid.change(reversed, "reverse");
  const states = [];
  for (const { id } of [refunded, disputed, reversed]) {
    states.push((await paid.refresh(id)).transaction_status);
  }
  assert.deepEqual(states, ["refund", "chargeback", "deny"]);
  await paid.advance(10 * MINUTE);
  assert.equal(await paid.sweep(), 0);
  assert.deepEqual(await checkedDays(paid, 8), []);
});

Deno.test("check_paid_payments: uses the times in the settings, and RECHECK_PER_MINUTE=0 turns it off", async () => {
  const env = { RECHECK_MINUTES: "30", RECHECK_DAYS: "2", RECHECK_CARD_DAYS: "0" };
  await using paid = await openPaid({ env });
  await paid.paid("permata");
  await paid.paid("card");
  const withoutRechecks = {
    ...paid.app.service,
    recheck: { ...paid.app.service.recheck, perMinute: 0 },
  };
  await paid.advance(29 * MINUTE);
  assert.equal(await paid.sweep(), 0);
  await paid.advance(MINUTE);
  const none = { unchanged: 0, changed: 0, failed: 0, behind_seconds: 0 };
  assert.deepEqual(await checkPaidPayments(withoutRechecks), none);
  assert.equal(await paid.sweep(), 1);
  assert.deepEqual(await checkedDays(paid, 190), [2, 181]);
});

Deno.test("check_paid_payments: finds a refund made on the gateway's dashboard whose notification was lost", async () => {
  await using paid = await openPaid();
  const payment = await paid.paid("gopay");
  await paid.sandbox.post(`/v2/${payment.transaction_id}/refund`, { amount: 4_000 });
  await paid.advance(DAY);
  assert.equal(await paid.sweep(), 1);
  const { transaction_status, refund_amount } = await paid.read(payment.id);
  assert.deepEqual([transaction_status, Number(refund_amount)], ["partial_refund", 4_000]);
  assert.deepEqual((await paid.events(payment.id)).at(-1), "payment_refunded");
});

Deno.test("check_paid_payments: an unchanged payment is not written", async () => {
  await using paid = await openPaid();
  const payment = await paid.paid("gopay");
  const readRow = async () =>
    await runSql(
      paid.databaseUrl,
      `select xmin, * from gateway.payments where id = '${payment.id}'`,
    );
  const before = await readRow();
  await paid.advance(DAY);
  assert.equal(await paid.sweep(), 1);
  assert.deepEqual(await readRow(), before);
});

Deno.test("check_paid_payments: spreads at most RECHECK_PER_MINUTE calls over a minute, reversible payments first, and continues later", async () => {
  await using paid = await openPaid({ env: { RECHECK_PER_MINUTE: "3" } });
  for (let count = 0; count < 4; count++) await paid.paid("gopay");
  await paid.advance(DAY - 5 * MINUTE);
  const reversed = await paid.paid("permata");
  await paid.change(reversed, "reverse");
  await paid.advance(15 * MINUTE);
  const waits: number[] = [];
  const run = () => checkPaidPayments(paid.app.service, (ms) => Promise.resolve(waits.push(ms)));
  const firstRun = await run();
  assert.deepEqual([firstRun.changed, firstRun.unchanged, firstRun.failed], [1, 2, 0]);
  assert.ok(firstRun.behind_seconds > 0);
  assert.equal((await paid.read(reversed.id)).transaction_status, "deny");
  // Two checks run at the same time, and each waits 33 s, so that three checks fill 50 seconds.
  assert.deepEqual(waits.map((ms) => Math.round(ms / 1_000)), [33, 33, 33]);
  const secondRun = await run();
  assert.deepEqual(secondRun, { unchanged: 2, changed: 0, failed: 0, behind_seconds: 0 });
  assert.equal(await paid.sweep(), 0, "each payment is checked once");
});

Deno.test("check_paid_payments: ends early when the service stops, and the next run continues", async () => {
  await using paid = await openPaid();
  for (let count = 0; count < 5; count++) await paid.paid("gopay");
  await paid.advance(DAY + 10 * MINUTE);
  const stop = new AbortController();
  const stopped = { ...paid.app.service, stopping: stop.signal };
  const first = await checkPaidPayments(stopped, () => Promise.resolve(stop.abort()));
  assert.equal(first.unchanged, 1, "the check that ran");
  assert.ok(first.behind_seconds > 0);
  const second = await checkPaidPayments(paid.app.service, () => Promise.resolve());
  assert.equal(second.unchanged, 4);
});

Deno.test("check_paid_payments: makes no calls while other checks wait, and catches up afterwards", async () => {
  await using paid = await openPaid();
  await paid.paid("permata");
  await paid.advance(10 * MINUTE);
  const run_at = new Date(paid.app.service.clock() - 2 * MINUTE * 1000);
  const waitingJob = newJob({
    task: "check",
    lane: LANES.checks,
    subject_id: randomUUID(),
    run_at,
  });
  await paid.app.database.query((sql) => insertJobs(sql, [waitingJob]));
  assert.equal(await paid.sweep(), 0);
  await runSql(paid.databaseUrl, "delete from gateway.jobs");
  assert.equal(await paid.sweep(), 1);
});

Deno.test("check_paid_payments: a check that fails at the gateway is repeated by jobs until it succeeds", async () => {
  await using paid = await openPaid();
  const payment = await paid.paid("permata");
  await paid.change(payment, "reverse");
  await paid.advance(10 * MINUTE);
  await paid.sandbox.fault("status", "error_500", { count: 4 });
  const result = await checkPaidPayments(paid.app.service);
  assert.deepEqual([result.failed, result.behind_seconds], [1, 0]);
  assert.equal((await paid.read(payment.id)).transaction_status, "settlement");
  await paid.advance(5 * MINUTE);
  assert.equal(await checkPendingPayments(paid.app.service), 1);
  await paid.runJobs();
  assert.equal((await paid.read(payment.id)).transaction_status, "deny");
  await paid.advance(HOUR);
  assert.equal(await checkPendingPayments(paid.app.service), 0);
});

Deno.test("check_paid_payments: while the gateway limits the rate, checks are delayed and no payment is skipped", async () => {
  await using paid = await openPaid();
  const payment = await paid.paid("permata");
  await paid.change(payment, "reverse");
  await paid.advance(10 * MINUTE);
  const whilePaused = {
    ...paid.app.service,
    gateway: { ...paid.app.service.gateway, rateLimitPauseMs: () => 1 },
  };
  const result = await checkPaidPayments(whilePaused);
  assert.deepEqual([result.failed, result.changed, result.unchanged], [0, 0, 0]);
  assert.equal(await paid.sweep(), 1);
  assert.equal((await paid.read(payment.id)).transaction_status, "deny");
});

Deno.test("check_paid_payments: after a crash before the progress is stored, the next run repeats the checks", async () => {
  await using paid = await openPaid();
  await paid.paid("permata");
  await paid.advance(10 * MINUTE);
  const { database } = paid.app.service;
  const crashingDatabase: typeof database = {
    ...database,
    query: (work, name) =>
      name === "store paid checks"
        ? Promise.reject(new Error("crash"))
        : database.query(work, name),
  };
  await assert.rejects(
    checkPaidPayments({ ...paid.app.service, database: crashingDatabase }),
    /crash/,
  );
  assert.equal(await paid.sweep(), 1);
  assert.equal(await paid.sweep(), 0);
});

Deno.test("check_paid_payments: two instances at the same time change each payment once", async () => {
  await using paid = await openPaid();
  await using otherApp = await openApp({
    databaseUrl: paid.databaseUrl,
    gatewayUrl: paid.relay.url,
    serverKey: SERVER_KEY,
    now: paid.app.service.clock,
  });
  const payments = [await paid.paid("permata"), await paid.paid("echannel")];
  for (const payment of payments) await paid.change(payment, "reverse");
  await paid.advance(10 * MINUTE);
  await Promise.all([paid.app, otherApp].map(({ service }) => checkPaidPayments(service)));
  for (const { id } of payments) {
    assert.deepEqual(
      (await paid.events(id)).filter((name) => name === "payment_denied"),
      ["payment_denied"],
    );
  }
  assert.equal(await paid.sweep(), 0);
});

Deno.test("check_paid_payments: the first run checks only the payments that became due in the last day", async () => {
  await using paid = await openPaid();
  await paid.paid("permata");
  await paid.advance(2 * DAY);
  await paid.paid("permata");
  await paid.advance(12 * HOUR);
  assert.equal(await paid.sweep(), 1);
});
