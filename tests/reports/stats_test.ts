import assert from "node:assert/strict";
import postgres from "postgres";
import { newId } from "../../core/ids.ts";
import { medianSeconds, payTimeRange } from "../../core/reports/pay_times.ts";
import { rebuildStats, updateStats } from "../../core/reports/count_payments.ts";
import { resetStats } from "../../db/reports/stats.ts";
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
  await updateStats(payments.app.service);
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
      fee_amount: null,
      payout_amount: null,
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
      fee_amount: null,
      payout_amount: null,
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
      fee_amount: null,
      payout_amount: null,
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

Deno.test("stats: a refund that the bank makes later is added to the day of its request", async () => {
  await using payments = await openStats(Date.parse("2031-03-31T03:30:00Z"));
  const { id, transaction_id } = await payments.paid("gopay");
  await payments.sandbox.fault("refund", "bank_pending");
  await refund(payments, id, 15_000);
  const query = "from=2031-03-01&to=2031-05-01&interval=month";
  const refunded = async () =>
    (await updated(payments, query)).map(({ start, refund_amount }) => [start, refund_amount]);
  const march = "2031-02-28T17:00:00.000Z";
  assert.deepEqual(await refunded(), [[march, "0.00"]]);
  payments.advance(2 * 24 * 60 * MINUTE);
  await payments.sandbox.control(`transactions/${transaction_id}/confirm_refund`);
  await payments.refresh(id);
  assert.deepEqual(await refunded(), [[march, "15000.00"]]);
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

Deno.test("stats: are unavailable until all payments are counted, then show the time of the count", async () => {
  await using payments = await openStats();
  await payments.app.database.transaction(resetStats);
  const path = "/stats/payments/?from=2031-03-05";
  await assertProblem(await payments.get(path), 503, "unavailable");
  await updateStats(payments.app.service);
  const { as_of, rows } = await stats(payments, "from=2031-03-05");
  assert.deepEqual([as_of, rows], [new Date(BEFORE_MIDNIGHT).toISOString(), []]);
});

Deno.test("stats: a payment is counted once, however often it changes and the task runs", async () => {
  await using payments = await openStats();
  const { id, transaction_id } = await payments.charge("gopay", { gross_amount: 40_000 });
  const query = "from=2031-03-05&group_by=transaction_status";
  assert.deepEqual((await stats(payments, query)).rows, [], "the charge itself writes no figures");
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
  await updateStats(payments.app.service);
  const paid = await payments.paid("card", { gross_amount: 90_000 });
  await payments.charge("bca");
  await updateStats(payments.app.service);
  payments.advance(60 * MINUTE);
  await payments.sandbox.control(`transactions/${paid.transaction_id}/chargeback`);
  await payments.refresh(paid.id);
  const query = "from=2031-03-05&interval=hour&group_by=payment_type&group_by=user_id";
  const before = await updated(payments, query, staff);
  assert.ok(before.some(({ chargeback_amount }) => chargeback_amount === "90000.00"));
  assert.equal(await rebuildStats(payments.app.service), 2 + 2);
  assert.deepEqual((await stats(payments, query, staff)).rows, before);
});

Deno.test("stats: count a payment whose transaction commits after those that began later", async () => {
  await using payments = await openStats();
  await updateStats(payments.app.service);
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
    "from=0000-01-01&to=2031-03-05&time_zone=UTC": "from",
    "from=0000-01-01&to=0000-01-05&time_zone=UTC": "to",
    "from=%2B012026-01-01T00:00:00Z&to=%2B012026-01-02T00:00:00Z": "to",
    "from=9999-12-31&to=9999-12-31T23:00:00-12:00": "to",
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

Deno.test("stats: accept the first and the last days that PostgreSQL can compare", async () => {
  await using payments = await openStats();
  await updateStats(payments.app.service);
  for (const zone of ["Asia/Jakarta", "UTC", "Etc/GMT-14", "Etc/GMT%2B12"]) {
    for (const range of ["from=1970-01-01&to=1970-01-02", "from=9999-12-30&to=9999-12-31"]) {
      for (const interval of ["hour", "day", "week", "month"]) {
        const query = `${range}&interval=${interval}&time_zone=${zone}`;
        const response = await payments.get(`/stats/payments/?${query}`);
        assert.equal(response.status, 200, `${query}: ${await response.text()}`);
      }
    }
  }
});

Deno.test("median time to pay: is accurate to 5 percent", () => {
  for (const seconds of [1, 2, 7, 30, 60, 95, 600, 3_600, 86_400, 30 * 86_400]) {
    const ranges = [seconds / 3, seconds, seconds * 3].map(payTimeRange);
    const median = medianSeconds(new Map(ranges.map((range) => [range, 1])))!;
    assert.ok(Math.abs(median - seconds) <= Math.max(0.5, seconds * 0.05), `${median}: ${seconds}`);
  }
  assert.equal(medianSeconds(new Map()), null);
});

Deno.test("median time to pay: is that of all payments of the interval, not of its hours", async () => {
  await using payments = await openStats(Date.parse("2031-03-05T02:00:00Z"));
  const pay = async (minutes: number) => {
    const { id, transaction_id } = await payments.charge("gopay");
    payments.advance(minutes * MINUTE);
    await payments.sandbox.control(`transactions/${transaction_id}/pay`);
    await payments.refresh(id);
  };
  for (const minutes of [1, 1, 1, 50]) await pay(minutes);
  payments.advance(60 * MINUTE);
  for (const minutes of [50, 50, 50]) await pay(minutes);
  for (const zone of ["Asia/Jakarta", "Asia/Makassar"]) {
    const [day] = await updated(payments, `from=2031-03-05&to=2031-03-06&time_zone=${zone}`);
    assert.equal(day!.paid_count, 7);
    const median = day!.median_seconds_to_pay;
    assert.ok(Math.abs(median - 3_000) <= 150, `${zone}: ${median} is about 3,000`);
  }
});

Deno.test("stats: a range that begins or ends within a day has only the hours of the range", async () => {
  // 10:00 in Jakarta.
  await using payments = await openStats(Date.parse("2031-03-05T03:00:00Z"));
  for (let day = 0; day < 3; day++) {
    await payments.charge("gopay");
    payments.advance(6 * 60 * MINUTE);
    await payments.charge("gopay");
    payments.advance(18 * 60 * MINUTE);
  }
  const counts = async (query: string) =>
    (await updated(payments, query)).map(({ start, count }) => [start.slice(5, 13), count]);
  assert.deepEqual(await counts("from=2031-03-05&to=2031-03-08"), [
    ["03-04T17", 2],
    ["03-05T17", 2],
    ["03-06T17", 2],
  ]);
  assert.deepEqual(await counts("from=2031-03-05T04:00:00Z&to=2031-03-07T09:00:00Z"), [
    ["03-04T17", 1],
    ["03-05T17", 2],
    ["03-06T17", 1],
  ]);
  assert.deepEqual(await counts("from=2031-03-05T04:00:00Z&to=2031-03-05T09:00:00Z"), []);
  assert.deepEqual(await counts("from=2031-03-05T04:00:00Z&to=2031-03-08&interval=week"), [
    ["03-02T17", 5],
  ]);
  assert.deepEqual(
    await counts("from=2031-03-05T03:00:00Z&to=2031-03-05T04:00:00Z&interval=hour"),
    [
      ["03-05T03", 1],
    ],
  );
});

Deno.test("stats: days and weeks of a zone with daylight saving time begin at its midnight", async () => {
  // The clocks in New York go forward on 2031-03-09 at 07:00 UTC.
  await using payments = await openStats(Date.parse("2031-03-09T04:30:00Z"));
  for (let hour = 0; hour < 25; hour++) {
    await payments.charge("gopay");
    payments.advance(60 * MINUTE);
  }
  const query = "from=2031-03-08&to=2031-03-11&time_zone=America/New_York";
  const counts = (await updated(payments, query)).map(({ start, count }) => [start, count]);
  assert.deepEqual(counts, [
    ["2031-03-08T05:00:00.000Z", 1],
    ["2031-03-09T05:00:00.000Z", 23],
    ["2031-03-10T04:00:00.000Z", 1],
  ]);
  const weeks = await updated(payments, `${query}&interval=week`);
  assert.deepEqual(weeks.map(({ start, count }) => [start, count]), [
    ["2031-03-03T05:00:00.000Z", 24],
    ["2031-03-10T04:00:00.000Z", 1],
  ]);
});

Deno.test("stats: a time zone that does not differ from UTC by whole hours is rejected, also without a day", async () => {
  await using payments = await openStats();
  const times = ["", "&from=2031-03-05", "&from=2031-03-05T00:00:00Z&to=2031-03-06T00:00:00Z"];
  for (const zone of ["Asia/Kolkata", "Asia/Kathmandu", "Australia/Adelaide", "%2B05:30"]) {
    for (const interval of ["hour", "day", "week", "month"]) {
      for (const time of times) {
        const query = `time_zone=${zone}&interval=${interval}${time}`;
        const response = await payments.get(`/stats/payments/?${query}`);
        const { errors } = await assertProblem(response, 400, "validation_error");
        assert.deepEqual(errors!.map(({ field }) => field), ["time_zone"], query);
        assert.match(errors![0]!.message, /whole hours.*Use UTC or Asia\/Jakarta/);
      }
    }
  }
});

Deno.test("stats: accept an offset from UTC as a time zone", async () => {
  await using payments = await openStats();
  await payments.charge("gopay");
  payments.advance(2 * MINUTE);
  await payments.charge("gopay");
  for (const zone of ["Asia/Jakarta", "%2B07:00", "asia/jakarta"]) {
    const rows = await updated(payments, `from=2031-03-05&to=2031-03-07&time_zone=${zone}`);
    assert.deepEqual(rows.map(({ start, count }) => [start, count]), [
      ["2031-03-04T17:00:00.000Z", 1],
      ["2031-03-05T17:00:00.000Z", 1],
    ], zone);
  }
});
