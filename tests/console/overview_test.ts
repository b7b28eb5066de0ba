import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { updateStats } from "../../core/reports/count_payments.ts";
import type { Database } from "../../db/connection/database.ts";
import { REAL_INSTALLATION } from "../support/app.ts";
import { openStaff, signInTo } from "../support/console/browsing.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { findSentNotification, notifyAndRead } from "../support/gateway/notifications.ts";
import { CHALLENGED_CARD, type Json } from "../support/gateway/sandbox.ts";
import { manualClock } from "../support/manual_clock.ts";
import { openAtNoon } from "../support/noon.ts";
import { chargeRequest, openPayments, type TestPayments } from "../support/payments/payments.ts";

const ALLOW_PRIVATE = { env: { ...REAL_INSTALLATION, WEBHOOK_ALLOW_PRIVATE: "true" } };

const DAY_MS = 86_400_000;

/** Read once: the day can end during a test. */
const STARTED_AT = Date.now();

/** A time in UTC, `daysBefore` days before two days ago. Cookies of the far future are refused. */
function timeOf(time: string, daysBefore = 0): number {
  const day = new Date(STARTED_AT - (2 + daysBefore) * DAY_MS).toISOString().slice(0, 10);
  return Date.parse(`${day}T${time}:00Z`);
}

/** As the page writes it, such as `12 Mar`. */
function dayName(time: number): string {
  return new Date(time).toLocaleDateString("en-GB", {
    day: "numeric",
    month: "short",
    timeZone: "Asia/Jakarta",
  });
}

/** The figures by label: today; today in whole hours, if it differs; yesterday, a week ago. */
function figuresIn(html: string): Record<string, string[]> {
  const figures = html.matchAll(
    /<div class="figure"><h3>([^<]+)<\/h3><p>([^<]+)<\/p>(.*?)<\/dl>/gs,
  );
  return Object.fromEntries(
    [...figures].map(([, label, today, earlier]) => [
      label!,
      [
        today!,
        ...[...earlier!.matchAll(/<dd>(.*?)<\/dd>/gs)].map(([, text]) =>
          text!.replace("<small>", " ").replace("</small>", "")
        ),
      ],
    ]),
  );
}

/** What needs attention, and the paths of the links, by text. */
function attentionIn(html: string): Record<string, { count: string | null; path: string }> {
  const [list = ""] = html.match(/<ul class="attention">.*?<\/ul>/s) ?? [];
  const entries = list.matchAll(
    /<li><a href="([^"]+)">([^<]+)<\/a>(?:<strong>([^<]+)<\/strong>)?<\/li>/g,
  );
  return Object.fromEntries(
    [...entries].map(([, path, text, count]) => [
      text!,
      { count: count ?? null, path: path!.replaceAll("&amp;", "&") },
    ]),
  );
}

Deno.test("console overview: compares whole hours of today with the same hours of yesterday and last week", async () => {
  const clock = manualClock(timeOf("01:00", 7));
  const goTo = (time: number) => clock.set(new Date(time));
  await using payments = await openPayments({ now: clock.now });
  await payments.paid("gopay", { gross_amount: 50_000 });
  goTo(timeOf("13:00", 7));
  await payments.paid("gopay", { gross_amount: 400_000 });
  goTo(timeOf("02:00", 1));
  await payments.paid("qris", { gross_amount: 200_000 });
  await payments.charge("bca");
  await payments.charge("bca");
  goTo(timeOf("13:00", 1));
  await payments.paid("qris", { gross_amount: 900_000 });
  goTo(timeOf("03:00"));
  const { id } = await payments.paid("gopay", { gross_amount: 100_000 });
  await payments.post(`/payments/${id}/refund/`, { amount: 30_000 });
  await payments.charge("bca");
  // The hour that has begun, 15:00 to 16:00 in Jakarta, is not compared.
  goTo(timeOf("08:10", 1));
  await payments.paid("qris", { gross_amount: 700_000 });
  goTo(timeOf("08:10"));
  await payments.paid("gopay", { gross_amount: 5_000 });
  goTo(timeOf("08:30"));
  await updateStats(payments.app.service);

  const { page } = await openStaff(payments);
  assert.deepEqual(figuresIn(page.html), {
    "Paid": ["Rp 105.000", "Rp 100.000", "Rp 200.000 -50%", "Rp 50.000 +100%"],
    "Paid payments": ["2", "1", "1 0%", "1 0%"],
    "Success rate": ["66.7%", "50%", "33.3%", "100%"],
    "Pending": ["1", "2 -50%", "0"],
    "Refunds": ["Rp 30.000", "Rp 0", "Rp 0"],
    "Chargebacks": ["Rp 0", "Rp 0", "Rp 0"],
  });
  assert.match(page.html, /each day from midnight to 15:00 WIB/);
  assert.match(page.html, /<dt>Today until 15:00<\/dt><dd>Rp 100\.000<\/dd>/);

  // The figures that were counted last do not have the whole hour yet.
  goTo(timeOf("09:00"));
  assert.match((await openStaff(payments)).page.html, /from midnight to 15:00 WIB/);
  // 00:30 in Jakarta.
  goTo(timeOf("17:30"));
  await updateStats(payments.app.service);
  const { html } = (await openStaff(payments)).page;
  assert.match(html, /The comparison begins after the first whole hour/);
  assert.deepEqual(figuresIn(html.replaceAll("</p></div>", "</p></dl>"))["Paid"], ["Rp 0"]);
});

Deno.test("console overview: the chart has a legend, a title, and a table with the same figures", async () => {
  const [today, yesterday, before] = [0, 1, 2].map((days) => timeOf("03:00", days));
  const clock = manualClock(yesterday);
  await using payments = await openPayments({ now: clock.now });
  await payments.paid("qris", { gross_amount: 900_000 });
  clock.set(new Date(today!));
  await payments.paid("gopay", { gross_amount: 100_000 });
  await payments.paid("qris", { gross_amount: 20_000 });
  await updateStats(payments.app.service);
  const { html } = (await openStaff(payments)).page;
  const [legend] = html.match(/<ul class="legend">.*?<\/ul>/s)!;
  assert.deepEqual([...legend.matchAll(/<\/svg>([^<]+)/g)].map(([, name]) => name), [
    "QRIS",
    "GoPay",
  ]);
  assert.match(html, /role="img" aria-labelledby="chart"><title id="chart">Paid by method/);
  assert.ok(html.includes(`<title>${dayName(today!)}: Rp 120.000</title>`));
  assert.equal(html.match(/<rect class="series-\d"/g)!.length, 3);
  const rows = [...html.matchAll(/<tr><th scope="row">([^<]+)<\/th>(.*?)<\/tr>/gs)]
    .map(([, day, cells]) => [day, ...[...cells!.matchAll(/>([^<]+)<\/td>/g)].map(([, c]) => c)]);
  assert.equal(rows.length, 30);
  assert.deepEqual(rows.slice(0, 3), [
    [dayName(today!), "Rp 20.000", "Rp 100.000", "Rp 120.000"],
    [dayName(yesterday!), "Rp 900.000", "Rp 0", "Rp 900.000"],
    [dayName(before!), "Rp 0", "Rp 0", "Rp 0"],
  ]);
});

Deno.test("console overview: the figures are read again only when the statistics were updated", async () => {
  const clock = manualClock(timeOf("08:30"));
  let reads = 0;
  await using payments = await openPayments({
    now: clock.now,
    wrapDatabase: (database): Database => ({
      ...database,
      query(work, name) {
        if (name === "read stats") reads++;
        return database.query(work, name);
      },
    }),
  });
  const staff = await openStaff(payments);
  const first = reads;
  assert.ok(first > 0);
  await staff.open("/console/");
  assert.equal(reads, first);
  await payments.paid("gopay");
  clock.advance(1_000);
  await updateStats(payments.app.service);
  const { html } = await staff.open("/console/");
  assert.equal(reads, 2 * first);
  assert.equal(figuresIn(html)["Paid payments"]![0], "1");
});

Deno.test("console overview: the chart adds up the methods for which it has no colour", async () => {
  await using payments = await openAtNoon(openPayments);
  const kinds = ["qris", "gopay", "dana", "shopeepay", "ovo", "bca", "echannel"] as const;
  for (const [index, kind] of kinds.entries()) {
    await payments.paid(kind, { gross_amount: 100_000 - index * 10_000 });
  }
  await updateStats(payments.app.service);
  const { html } = (await openStaff(payments)).page;
  const [legend] = html.match(/<ul class="legend">.*?<\/ul>/s)!;
  assert.deepEqual([...legend.matchAll(/<\/svg>([^<]+)/g)].map(([, name]) => name), [
    "QRIS",
    "GoPay",
    "DANA",
    "ShopeePay",
    "OVO",
    "Other methods",
  ]);
  assert.match(html, /<td class="amount">Rp 90\.000<\/td>.*<td class="amount">Rp 490\.000<\/td>/);
});

Deno.test("console overview: says that the figures are being computed, and shows the rest", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase() });
  const { order_id } = await payments.charge("bca");
  await runSql(payments.databaseUrl, "update gateway.stats_progress set as_of = null");
  const { status, html } = (await openStaff(payments)).page;
  assert.equal(status, 200);
  assert.match(html, /figures are being computed/);
  assert.ok(html.includes(order_id));
  assert.match(html, /Nothing needs attention/);
});

Deno.test("console overview: what needs attention leads to a page that shows exactly that", async () => {
  await using payments = await openPayments({
    databaseUrl: await createDatabase(),
    ...ALLOW_PRIVATE,
  });
  const { app, databaseUrl } = payments;
  const challenged = await challenge(payments);
  const decided = await challenge(payments);
  const staffKey = await app.createKey({ isStaff: true });
  await payments.post(`/reviews/${decided.id}/deny/`, undefined, {}, staffKey);
  const [unknown, running] = [randomUUID(), randomUUID()];
  await runSql(
    databaseUrl,
    `insert into gateway.payments (id, user_id, order_id, payment_type, gross_amount, currency,
      transaction_status, sent_at, created_at, updated_at)
    select uuidv7(-age), 'alice', order_id, 'gopay', 44000, 'IDR', 'pending', now() - age,
      now() - age, now() - age
    from (values ('${unknown}', interval '5 minutes'), ('${running}', interval '5 seconds'))
      made (order_id, age)`,
  );
  const paid = await payments.paid("gopay");
  await runSql(
    databaseUrl,
    `insert into gateway.refunds (id, payment_id, refund_key, amount, is_direct, status, created_at,
      updated_at)
    select uuidv7(), '${paid.id}', status, 5000, false, status, now(), now()
    from unnest(array['pending', 'succeeded']) status;
    insert into gateway.notifications (id, order_id, transaction_id, transaction_status, status_code,
      gross_amount, status, raw_payload, created_at)
    select gen_random_uuid(), 'order-' || status, gen_random_uuid(), 'settlement', '200', '44000.00',
      status, '{}', now()
    from unnest(array['failed', 'processed']) status;
    insert into gateway.jobs (id, task, payload, status, attempts, error, run_at, created_at,
      updated_at)
    select gen_random_uuid(), 'check_payment_status', '{}', status, 6, 'because of ' || status, now(),
      now(), now()
    from unnest(array['failed', 'succeeded', 'failed']) status`,
  );
  const outside = await payOutside(payments);
  const refunded = await payOutside(payments);
  await payments.sandbox.post(`/v2/${refunded.transaction_id}/refund`, { refund_key: "r" });
  await notifyAndRead(payments, await findSentNotification(payments, refunded.order_id, "refund"));
  const failing = await endpoint(payments, "failing", "failing_since = now()");
  const gone = await endpoint(payments, "gone", "disabled_reason = 'gone'");
  await endpoint(payments, "off", "disabled_reason = 'requested', failing_since = now()");
  await endpoint(payments, "well", "failing_since = null");

  const staff = await openStaff(payments);
  const attention = attentionIn(staff.page.html);
  const counts = Object.entries(attention).map(([text, { count }]) => [text, count]);
  assert.deepEqual(counts, [
    ["Card payments to review", "1"],
    ["Payments with an unknown outcome", "1"],
    ["Paid payments without an owner", "1"],
    ["Refunds with an unknown outcome", "1"],
    ["Failing webhook endpoints", "2"],
    ["Failed notifications", "1"],
    ["Failed jobs", "2"],
  ]);
  const shown = async (text: string) => {
    const { status, html } = await staff.open(attention[text]!.path);
    assert.equal(status, 200, text);
    const [body = ""] = html.match(/<tbody>.*<\/tbody>/s) ?? [];
    return { html, rows: body.split("<tr>").length - 1 };
  };
  const expected: Record<string, string[]> = {
    "Card payments to review": [challenged.order_id],
    "Payments with an unknown outcome": [unknown],
    "Paid payments without an owner": [outside.order_id],
    "Refunds with an unknown outcome": [paid.order_id],
    "Failing webhook endpoints": [failing, gone],
    "Failed notifications": ["order-failed"],
    "Failed jobs": ["because of failed", "because of failed"],
  };
  for (const [text, texts] of Object.entries(expected)) {
    const { html, rows } = await shown(text);
    assert.equal(rows, texts.length, text);
    for (const each of texts) assert.ok(html.includes(each), `${text}: ${each}`);
  }
});

async function challenge(payments: TestPayments): Promise<{ id: string; order_id: string }> {
  const token_id = await payments.sandbox.token(CHALLENGED_CARD);
  const request = await chargeRequest(payments.sandbox, "card");
  const response = await payments.post("/charge/", { ...request, token_id });
  assert.equal(response.status, 201, await response.clone().text());
  return await response.json();
}

/** A paid transaction that another program created, adopted by the service. */
async function payOutside(payments: TestPayments): Promise<Json> {
  const order_id = randomUUID();
  const transaction = await payments.sandbox.paid("gopay", { transaction_details: { order_id } });
  await notifyAndRead(payments, await findSentNotification(payments, order_id, "settlement"));
  return transaction;
}

/** Creates an endpoint with this state, and returns its URL. */
async function endpoint(payments: TestPayments, name: string, state: string): Promise<string> {
  const key = await payments.app.createKey({ isStaff: true });
  const url = `http://127.0.0.1:9/${name}`;
  const created = await payments.post("/webhook-endpoints/", { url }, {}, key);
  const { id } = await created.json();
  await runSql(
    payments.databaseUrl,
    `update gateway.webhook_endpoints set ${state} where id = '${id}'`,
  );
  return url;
}

Deno.test("console overview: counts at most 100, and links each report that has differences", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase() });
  const [old, equal, different] = [randomUUID(), randomUUID(), randomUUID()];
  await runSql(
    payments.databaseUrl,
    `insert into gateway.jobs (id, task, payload, status, attempts, run_at, created_at, updated_at)
    select gen_random_uuid(), 'check_payment_status', '{}', 'failed', 6, now(), now(), now()
    from generate_series(1, 120);
    insert into gateway.reconciliations (id, user_id, file_hash, status, is_confirmed, summary,
      created_at)
    select id, 'ops', convert_to(id::text, 'UTF8'), 'succeeded', false,
      json_build_object('results', json_build_object('matched', 90, 'amount_differs', differences,
        'missing_here', 2 * differences)), now() - age
    from (values ('${old}'::uuid, 1, interval '40 days'), ('${equal}', 0, interval '1 day'),
      ('${different}', 2, interval '1 day')) report (id, differences, age)`,
  );
  const attention = attentionIn((await openStaff(payments)).page.html);
  assert.deepEqual(attention, {
    "Differences in gateway reports": {
      count: "6",
      path: `/console/reconciliations/${different}/`,
    },
    "Failed jobs": { count: "100 or more", path: "/console/jobs/?status=failed" },
  });
});

Deno.test("console overview: says that the gateway does not respond", async () => {
  // Nothing listens at this address.
  await using payments = await openPayments({ gatewayUrl: "http://127.0.0.1:2" });
  const body = { payment_type: "gopay", gross_amount: 44_000 };
  for (let call = 0; call < 5; call++) await payments.post("/charge/", body);
  const attention = attentionIn((await openStaff(payments)).page.html);
  assert.deepEqual(Object.keys(attention), ["The gateway does not respond"]);
});

Deno.test("console overview: a viewer sees it, too", async () => {
  await using payments = await openPayments();
  const { order_id } = await payments.charge("bca");
  const { page } = await signInTo(payments.app, await payments.app.createKey({ isViewer: true }));
  assert.equal(page.status, 200);
  assert.ok(page.html.includes(order_id));
});
