import assert from "node:assert/strict";
import type { Caller } from "../../core/auth/caller.ts";
import { readPaymentStats } from "../../core/reports/stats.ts";
import { updateStats } from "../../core/reports/count_payments.ts";
import { startsOf, totalsByGroup } from "../../console/reports/totals.ts";
import { openStaff, signInTo } from "../support/console/browsing.ts";
import { createDatabase } from "../support/database/database.ts";
import { openAtNoon } from "../support/noon.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";

const databaseUrl = await createDatabase({ isNew: true });

/** A paid and partly refunded wallet payment, and a pending virtual account. */
async function openReports(): Promise<TestPayments> {
  const databaseUrl = await createDatabase({ isNew: true });
  const payments = await openAtNoon((options) => openPayments({ databaseUrl, ...options }));
  const paid = await payments.paid("gopay", { gross_amount: 1_250_000 });
  await payments.post(`/payments/${paid.id}/refund/`, { amount: 250_000 });
  await payments.charge("bca", { gross_amount: 44_000 });
  await updateStats(payments.app.service);
  return payments;
}

const STAFF: Caller = {
  userId: "fina",
  isStaff: true,
  isViewer: false,
  credential: "jwt",
  keyPrefix: null,
};

Deno.test("console reports: totals, groups and the chart agree with the statistics of the API", async () => {
  await using payments = await openReports();
  const staff = await openStaff(payments);
  const { html, status } = await staff.open("/console/reports/");
  assert.equal(status, 200, html);
  for (const text of ["Rp 1.250.000", "Rp 250.000", "Rp 1.000.000", "50%", "GoPay"]) {
    assert.ok(html.includes(text), text);
  }
  assert.match(html, /<svg[^>]+role="img"/);
  assert.match(html, /<title>\d+ \w+: Rp 1\.250\.000<\/title><rect class="series-1"/);
  const columns = html.match(/<rect class="series-\d" x=/g)!;
  assert.equal(columns.length, 1, "one day has payments");
  assert.ok(html.length < 60_000);
  const byBank = await staff.open("/console/reports/?group=bank&interval=month&zone=UTC");
  assert.match(byBank.html, /<td>BCA<\/td>/);
  const byHour = await staff.open("/console/reports/?group=none&interval=hour");
  assert.match(byHour.html, /<h2 id="amounts">Paid amount, by day<\/h2>/, "30 days have 720 hours");
  assert.match(byHour.html, /<h2>By hour<\/h2>/);
  const eastern = await staff.open("/console/reports/?zone=Asia/Jayapura");
  assert.match(eastern.html, /columns of this page, times in WIT\./);
  assert.match(eastern.html, /names of the API, times in WIT\./);
  const empty = await staff.open("/console/reports/?from=2020-01-01&to=2020-01-31");
  assert.match(empty.html, /No payments in this period/);
});

Deno.test("console reports: the CSV file has the rows of the API, and no formulas", async () => {
  await using payments = await openReports();
  const { app } = payments;
  const evil = await app.createKey({ userId: "=HYPERLINK(1)" });
  await payments.post("/charge/", { payment_type: "gopay", gross_amount: 1_000 }, {}, evil);
  await updateStats(app.service);
  const staff = await openStaff(payments);
  const { html, headers } = await staff.open("/console/reports/totals.csv?group=user_id");
  assert.match(headers.get("content-type")!, /^text\/csv/);
  assert.match(headers.get("content-disposition")!, /^attachment; filename="totals_[\d-]+_/);
  const lines = html.trimEnd().split("\r\n");
  assert.equal(
    lines[0],
    "start,user_id,count,paid_count,success_rate,gross_amount,refund_amount,chargeback_amount," +
      "net_amount,median_seconds_to_pay,fee_amount,payout_amount",
  );
  assert.equal(lines.length, 3);
  assert.match(lines[1]!, /^[\d-]{10} 00:00,'=HYPERLINK\(1\),1,0,0,0,0,0,0,/);
  assert.match(lines[2]!, /^[\d-]{10} 00:00,alice,2,1,0\.5,1250000,250000,0,1000000,/);
});

Deno.test("console reports: an invalid period is named, and the form keeps its values", async () => {
  await using payments = await openPayments({ databaseUrl });
  await updateStats(payments.app.service);
  const staff = await openStaff(payments);
  for (const query of ["from=2026-13-45", "from=2026-02-02&to=2026-01-01", "to=%3Cscript%3E"]) {
    const { status, html } = await staff.open(`/console/reports/?${query}`);
    assert.equal(status, 400, query);
    assert.match(html, /role="alert"/, query);
    assert.doesNotMatch(html, /<script>/);
  }
  assert.match(staff.page.html, /value="&lt;script&gt;"/);
  const tooMany = await staff.open("/console/reports/?from=2020-01-01&interval=hour");
  assert.equal(tooMany.status, 400);
  assert.match(tooMany.html, /more than 1000 intervals/);
});

Deno.test("console reports: text of users is shown as text, viewers see it, others must sign in", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const evil = `"'><script>alert(1)</script>`;
  const key = await app.createKey({ userId: evil });
  await payments.post("/charge/", { payment_type: "gopay", gross_amount: 1_000 }, {}, key);
  await updateStats(app.service);
  const viewer = await signInTo(app, await app.createKey({ isViewer: true }));
  const { html, status } = await viewer.open("/console/reports/?group=user_id");
  assert.equal(status, 200);
  assert.match(html, /&lt;script&gt;alert\(1\)/);
  assert.equal(html.match(/<script/g)!.length, 1);
  assert.doesNotMatch(html, /style=/);
  viewer.cookies.clear();
  for (const path of ["", "totals.csv"]) {
    assert.match((await viewer.open(`/console/reports/${path}`)).path, /sign-in/);
  }
});

Deno.test("console reports: long tables have pages", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  await payments.app.database.query((sql) =>
    sql`
      with days as (
        insert into gateway.daily_payment_stats
        select '*', date_trunc('day', now() - n * interval '1 day', 'Asia/Jakarta'), 'gopay', '',
          'settlement', 2, 1, n, 0, 0, '{}', '{}'
        from generate_series(1, 120) n
        returning *
      )
      insert into gateway.hourly_payment_stats select * from days`
  );
  const staff = await openStaff(payments);
  await staff.open("/console/reports/?from=2020-01-01&interval=month&group=none");
  const from = new Date(Date.now() - 200 * 86_400_000).toISOString().slice(0, 10);
  const pages: string[] = [];
  let next: string | undefined = `/console/reports/?from=${from}`;
  while (next) {
    const { html, status } = await staff.open(next);
    assert.equal(status, 200);
    assert.ok(html.length < 60_000, `${html.length} bytes`);
    pages.push(html);
    const [, query] = html.match(/<a class="next" href="([^"]+)"/) ?? [];
    next = query && `/console/reports/${query.replaceAll("&amp;", "&")}`;
  }
  const amounts = pages.flatMap((html) =>
    [...html.matchAll(/<tr><td>\d+ \w+ \d+<\/td><td>GoPay<\/td>.*?Rp (\d+)</g)].map((row) => row[1])
  );
  assert.deepEqual(amounts, Array.from({ length: 120 }, (_, index) => String(index + 1)));
});

Deno.test("console reports: the intervals of a period begin where those of the statistics do", async () => {
  await using payments = await openReports();
  const ranges = [
    { interval: "hour", from: "2026-03-05", to: "2026-03-06" },
    { interval: "day", from: "2026-03-05", to: "2026-04-05" },
    { interval: "week", from: "2026-03-05", to: "2026-04-05" },
    { interval: "month", from: "2026-03-05", to: "2026-06-05" },
  ] as const;
  const counts = [];
  for (const time_zone of ["Asia/Jakarta", "UTC", "Europe/Berlin"]) {
    for (const range of ranges) {
      const { database } = payments.app;
      await database.query((sql) =>
        sql`
          with hours as (
            insert into gateway.hourly_payment_stats
            select '*', hour, 'gopay', '', 'settlement', 1, 1, 1, 0, 0, '{}', '{}'
            from generate_series(timestamptz '2026-03-01', '2026-06-10', interval '1 hour') hour
            on conflict do nothing returning *
          )
          insert into gateway.daily_payment_stats
          select '*', date_trunc('day', start, 'Asia/Jakarta'), 'gopay', '', 'settlement', count(*),
            count(*), count(*), 0, 0, '{}', '{}'
          from hours group by 2`
      );
      const input = { ...range, time_zone, group_by: [] };
      const stats = await readPaymentStats(payments.app.service, STAFF, input);
      assert.deepEqual(startsOf(stats), stats.rows.map(({ start }) => start), time_zone);
      counts.push(totalsByGroup(stats.rows, () => "all").length);
    }
  }
  assert.deepEqual(counts, Array(12).fill(1));
});
