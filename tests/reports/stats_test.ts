import { parse } from "csv-parse/sync";
import assert from "node:assert/strict";
import postgres from "postgres";
import { newId } from "../../core/ids.ts";
import { medianSeconds, PAY_TIME_RANGES, payTimeRange } from "../../core/reports/pay_times.ts";
import { rebuildStats, updateStats } from "../../core/reports/count_payments.ts";
import { resetStats } from "../../db/stats.ts";
import { fc } from "../support/fast_check.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { manualClock } from "../support/manual_clock.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

/** 2031-03-05, one minute before midnight in Jakarta. */
const BEFORE_MIDNIGHT = Date.parse("2031-03-05T16:59:00Z");

const MINUTE = 60_000;

async function openStats(start = BEFORE_MIDNIGHT) {
  const clock = manualClock(start);
  const payments = await openPayments({ now: clock.now });
  return Object.assign(payments, { advance: clock.advance });
}

async function stats(payments: TestPayments, query: string, key = payments.key): Promise<Json> {
  const response = await payments.get(`/stats/payments/?${query}`, key);
  assert.equal(response.status, 200, await response.clone().text());
  return await response.json();
}

async function updated(payments: TestPayments, query: string, key?: string): Promise<Json[]> {
  await updateStats(payments.app.deps);
  return (await stats(payments, query, key)).rows;
}

async function refund({ post }: TestPayments, id: string, amount: number) {
  const response = await post(`/payments/${id}/refund/`, { amount });
  assert.equal(response.status, 200, await response.text());
}

Deno.test("stats: counts belong to the day of creation, amounts to the day on which they were paid or refunded", async () => {
  await using payments = await openStats();
  const first = await payments.charge("gopay", { gross_amount: 50_000 });
  await payments.charge("bca");
  payments.advance(2 * MINUTE);
  await payments.sandbox.control(`transactions/${first.transaction_id}/pay`);
  await payments.refresh(first.id);
  payments.advance(24 * 60 * MINUTE);
  await refund(payments, first.id, 15_000);

  const rows = await updated(payments, "from=2031-03-05&to=2031-03-10");
  assert.deepEqual(rows.map(({ median_seconds_to_pay: _, ...row }) => row), [
    {
      start: "2031-03-04T17:00:00.000Z",
      count: 2,
      paid_count: 1,
      success_rate: 0.5,
      gross_amount: "0.00",
      refund_amount: "0.00",
      chargeback_amount: "0.00",
      net_amount: "0.00",
    },
    {
      start: "2031-03-05T17:00:00.000Z",
      count: 0,
      paid_count: 0,
      success_rate: null,
      gross_amount: "50000.00",
      refund_amount: "0.00",
      chargeback_amount: "0.00",
      net_amount: "50000.00",
    },
    {
      start: "2031-03-06T17:00:00.000Z",
      count: 0,
      paid_count: 0,
      success_rate: null,
      gross_amount: "0.00",
      refund_amount: "15000.00",
      chargeback_amount: "0.00",
      net_amount: "-15000.00",
    },
  ]);
  const median = rows[0]!.median_seconds_to_pay;
  assert.ok(median > 100 && median < 145, `${median} is about 120`);
  const inUtc = await updated(payments, "from=2031-03-05&to=2031-03-10&time_zone=UTC");
  assert.deepEqual(inUtc.map(({ start, net_amount }) => [start, net_amount]), [
    ["2031-03-05T00:00:00.000Z", "50000.00"],
    ["2031-03-06T00:00:00.000Z", "-15000.00"],
  ]);
  const month = await updated(payments, "from=2031-03-01&to=2031-04-01&interval=month");
  assert.deepEqual(month.map(({ start, net_amount }) => [start, net_amount]), [
    ["2031-02-28T17:00:00.000Z", "35000.00"],
  ]);
});

Deno.test("stats: groups by type, bank, current status and, for staff and viewers, by user", async () => {
  await using payments = await openStats();
  const { app } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  const viewer = await app.createKey({ userId: "dave", isViewer: true });
  await payments.charge("bca");
  await payments.paid("gopay");
  await payments.post("/charge/", { payment_type: "gopay", gross_amount: 7_000 }, {}, bob);
  const grouped = async (group: string, key: string) => {
    const query = group.split(" ").map((name) => `&group_by=${name}`).join("");
    const rows = await updated(payments, `from=2031-03-05${query}`, key);
    return rows.map((row) => [...group.split(" ").map((name) => row[name]), row.count]);
  };
  assert.deepEqual(await grouped("payment_type", staff), [["bank_transfer", 1], ["gopay", 2]]);
  assert.deepEqual(await grouped("payment_type", payments.key), [["bank_transfer", 1], [
    "gopay",
    1,
  ]]);
  assert.deepEqual(await grouped("payment_type", bob), [["gopay", 1]]);
  assert.deepEqual(await grouped("bank", payments.key), [[null, 1], ["bca", 1]]);
  assert.deepEqual(await grouped("transaction_status", payments.key), [
    ["pending", 1],
    ["settlement", 1],
  ]);
  for (const key of [staff, viewer]) {
    assert.deepEqual(await grouped("user_id payment_type", key), [
      ["alice", "bank_transfer", 1],
      ["alice", "gopay", 1],
      ["bob", "gopay", 1],
    ]);
  }
  const response = await payments.get("/stats/payments/?from=2031-03-05&group_by=user_id");
  await assertProblem(response, 403, "forbidden");
});

Deno.test("stats: are unavailable until all payments are counted, then say until when", async () => {
  await using payments = await openStats();
  await payments.app.database.transaction(resetStats);
  const path = "/stats/payments/?from=2031-03-05";
  await assertProblem(await payments.get(path), 503, "unavailable");
  await updateStats(payments.app.deps);
  const { as_of, rows } = await stats(payments, "from=2031-03-05");
  assert.deepEqual([as_of, rows], [new Date(BEFORE_MIDNIGHT).toISOString(), []]);
});

Deno.test("stats: a payment is counted once, however often it changes and the task runs", async () => {
  await using payments = await openStats();
  const { id, transaction_id } = await payments.charge("gopay", { gross_amount: 40_000 });
  const query = "from=2031-03-05&group_by=transaction_status";
  assert.deepEqual(
    (await updated(payments, query)).map((row) => [row.transaction_status, row.count]),
    [["pending", 1]],
  );
  await payments.sandbox.control(`transactions/${transaction_id}/pay`);
  await payments.refresh(id);
  await updated(payments, query);
  await refund(payments, id, 10_000);
  await updated(payments, query);
  const rows = await updated(payments, query);
  assert.deepEqual(
    rows.map((row) => [row.transaction_status, row.count, row.net_amount]),
    [["partial_refund", 1, "30000.00"]],
  );
});

Deno.test("stats: a rebuild gives the same figures as the updates", async () => {
  await using payments = await openStats();
  const staff = await payments.app.createKey({ isStaff: true });
  await updateStats(payments.app.deps);
  const paid = await payments.paid("card", { gross_amount: 90_000 });
  await payments.charge("bca");
  await updateStats(payments.app.deps);
  payments.advance(60 * MINUTE);
  await payments.sandbox.control(`transactions/${paid.transaction_id}/chargeback`);
  await payments.refresh(paid.id);
  const query = "from=2031-03-05&interval=hour&group_by=payment_type&group_by=user_id";
  const before = await updated(payments, query, staff);
  assert.ok(before.some(({ chargeback_amount }) => chargeback_amount === "90000.00"));
  assert.equal(await rebuildStats(payments.app.deps), 2 + 2);
  assert.deepEqual((await stats(payments, query, staff)).rows, before);
});

Deno.test("stats: count a payment whose transaction commits after those that began later", async () => {
  await using payments = await openStats();
  await updateStats(payments.app.deps);
  const sql = postgres(payments.databaseUrl, { max: 1 });
  const query = "from=2031-03-05";
  try {
    const id = newId(new Date(BEFORE_MIDNIGHT));
    const slow = Promise.withResolvers<void>();
    const written = Promise.withResolvers<void>();
    const commit = sql.begin(async (sql) => {
      await sql`
        insert into gateway.payments (id, user_id, order_id, payment_type, gross_amount, currency,
          transaction_status, sent_at, created_at, updated_at)
        values (${id}, 'alice', 'slow', 'gopay', 1000, 'IDR', 'pending', now(),
          ${new Date(BEFORE_MIDNIGHT)}, now())`;
      await sql`
        insert into gateway.history (resource, resource_id, to_status, source, created_at)
        values ('payment', ${id}, 'pending', 'charge', now())`;
      written.resolve();
      await slow.promise;
    });
    await written.promise;
    await payments.charge("gopay");
    for (let runs = 0; runs < 3; runs++) {
      assert.deepEqual((await updated(payments, query)).map(({ count }) => count), [1]);
    }
    slow.resolve();
    await commit;
    assert.deepEqual((await updated(payments, query)).map(({ count }) => count), [2]);
  } finally {
    await sql.end();
  }
});

Deno.test("stats: reject an invalid range, zone or group and name the parameter", async () => {
  await using payments = await openStats();
  const invalid = {
    "from=yesterday": "from",
    "from=2031-02-30": "from",
    "from=2031-03-05T10:30:00Z": "from",
    "from=2031-03-05&to=2031-03-05": "to",
    "from=2031-03-05&to=2031-03-04": "to",
    "from=2031-03-05&interval=year": "interval",
    "from=2001-03-05&interval=hour": "interval",
    "from=2031-03-05&time_zone=Mars": "time_zone",
    "from=2031-03-05&time_zone=Asia/Kolkata": "time_zone",
    "from=2031-03-05&group_by=store": "group_by.0",
    "from=2031-03-05&form=1": "form",
  };
  for (const [query, field] of Object.entries(invalid)) {
    const response = await payments.get(`/stats/payments/?${query}`);
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.deepEqual(errors!.map(({ field }) => field), [field], query);
  }
});

Deno.test("median time to pay: is accurate to 20 percent", () => {
  for (const seconds of [1, 2, 7, 30, 60, 95, 600, 3_600, 86_400]) {
    const counts = new Array(PAY_TIME_RANGES).fill(0);
    for (const each of [seconds / 3, seconds, seconds * 3]) counts[payTimeRange(each)]++;
    const median = medianSeconds(counts)!;
    assert.ok(Math.abs(median - seconds) <= Math.max(0.5, seconds * 0.2), `${median}: ${seconds}`);
  }
  assert.equal(medianSeconds(new Array(PAY_TIME_RANGES).fill(0)), null);
});

type Step = "pay" | "capture" | "refund" | "chargeback" | "wait";

const STEPS: Step[] = ["pay", "capture", "refund", "chargeback", "wait"];

/** Makes payments over a year, with the given steps; each step is close to a midnight. */
async function seedYear(
  payments: TestPayments & { advance(ms: number): void },
  plan: { steps: Step[]; amount: number; days: number }[],
) {
  for (const { steps, amount, days } of plan) {
    payments.advance(days * 24 * 60 * MINUTE);
    const isHeld = steps.includes("capture");
    const { id, transaction_id } = await payments.charge(isHeld ? "card_auth" : "card", {
      gross_amount: amount,
    });
    for (const step of steps) {
      payments.advance(2 * MINUTE);
      if (step === "pay") await tryControl(payments, `transactions/${transaction_id}/settle`);
      if (step === "chargeback") {
        await tryControl(payments, `transactions/${transaction_id}/chargeback`);
      }
      const part = Math.ceil(amount / 3);
      if (step === "capture") await payments.post(`/payments/${id}/capture/`, { amount: part });
      if (step === "refund") await payments.post(`/payments/${id}/refund/`, { amount: part });
      await payments.refresh(id);
    }
    if (days % 3 === 0) await updateStats(payments.app.deps);
  }
}

/** The sandbox refuses a step that the payment's state does not allow. */
async function tryControl({ sandbox }: TestPayments, path: string) {
  await sandbox.control(path).catch(() => {});
}

const sumOf = (rows: Json[], name: string) => rows.reduce((sum, row) => sum + Number(row[name]), 0);

Deno.test("stats: agree with exports and with the gateway to the rupiah, in every zone and interval", async () => {
  const step = fc.constantFrom(...STEPS);
  const plan = fc.array(
    fc.record({
      steps: fc.array(step, { maxLength: 4 }),
      amount: fc.integer({ min: 10_000, max: 1_000_000 }),
      days: fc.integer({ min: 0, max: 40 }),
    }),
    { minLength: 1, maxLength: 8 },
  );
  await fc.assert(
    fc.asyncProperty(plan, async (plan) => {
      await using payments = await openStats();
      await seedYear(payments, plan);
      await updateStats(payments.app.deps);
      const csv = await (await payments.get("/exports/payments/")).text();
      const exported: Json[] = parse(csv, { columns: true });
      for (const zone of ["Asia/Jakarta", "UTC", "America/New_York"]) {
        for (const interval of ["day", "week", "month"]) {
          const query = `from=2031-03-01&to=2032-12-31&interval=${interval}&time_zone=${zone}`;
          const { rows } = await stats(payments, query);
          const figures = (rows: Json[], gross: string) => [
            sumOf(rows, gross),
            sumOf(rows, "refund_amount"),
            sumOf(rows, "chargeback_amount"),
            sumOf(rows, "net_amount"),
          ];
          assert.deepEqual(figures(rows, "gross_amount"), figures(exported, "captured_amount"));
          assert.equal(sumOf(rows, "count"), exported.length);
        }
        await assertDays(payments, exported, zone);
      }
      const refunds = await (await payments.get("/exports/refunds/")).text();
      assert.equal(
        sumOf(parse(refunds, { columns: true }), "amount"),
        sumOf(exported, "refund_amount"),
      );
      const transactions = await payments.sandbox.control("transactions", undefined, "GET");
      for (const { transaction_id, transaction_status } of transactions) {
        const own = exported.find((row) => row.transaction_id === transaction_id)!;
        assert.equal(own.transaction_status, transaction_status);
      }
    }),
    { numRuns: 5 },
  );
});

/** The gross amount of each day is that of the exported payments that were paid on that day. */
async function assertDays(payments: TestPayments, exported: Json[], timeZone: string) {
  const expected: Record<string, number> = {};
  const day = new Intl.DateTimeFormat("sv", { timeZone, dateStyle: "short" });
  for (const { paid_at, captured_amount } of exported) {
    if (captured_amount === "") continue;
    const date = day.format(new Date(paid_at));
    expected[date] = (expected[date] ?? 0) + Number(captured_amount);
  }
  const query = `from=2031-03-01&to=2032-12-31&time_zone=${timeZone}`;
  const { rows } = await stats(payments, query);
  const found = rows.filter((row: Json) => Number(row.gross_amount) > 0)
    .map((row: Json) => [day.format(new Date(row.start)), Number(row.gross_amount)]);
  assert.deepEqual(Object.fromEntries(found), expected);
}
