import assert from "node:assert/strict";
import { quickRange } from "../../console/shared/quick_ranges.tsx";
import { updateStats } from "../../core/reports/count_payments.ts";
import { REAL_INSTALLATION } from "../support/app.ts";
import { openStaff, orderIdsIn, unescape } from "../support/console/browsing.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openPayments } from "../support/payments/payments.ts";

Deno.test("quick ranges: have the days of Jakarta, and weeks from Monday", () => {
  const ranges: [string, string, string, string, string][] = [
    // A Wednesday, a Monday, a Sunday, the first day of a year, and the end of March.
    ["2026-11-18", "2026-11-17", "2026-11-16", "2026-10-01", "2026-10-31"],
    ["2026-11-16", "2026-11-15", "2026-11-16", "2026-10-01", "2026-10-31"],
    ["2026-11-22", "2026-11-21", "2026-11-16", "2026-10-01", "2026-10-31"],
    ["2027-01-01", "2026-12-31", "2026-12-28", "2026-12-01", "2026-12-31"],
    ["2028-03-31", "2028-03-30", "2028-03-27", "2028-02-01", "2028-02-29"],
  ];
  for (const [today, yesterday, monday, first, last] of ranges) {
    assert.deepEqual(quickRange("today", today), { from: today, to: today });
    assert.deepEqual(quickRange("yesterday", today), { from: yesterday, to: yesterday });
    assert.deepEqual(quickRange("thisWeek", today), { from: monday, to: today });
    assert.deepEqual(quickRange("lastMonth", today), { from: first, to: last });
  }
});

Deno.test("console: lists and reports link to today, yesterday, this week and last month", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  const paid = await payments.paid("gopay");
  await payments.charge("bca");
  await updateStats(payments.app.service);
  const staff = await openStaff(payments);
  const linksOf = (html: string) =>
    Object.fromEntries(
      [...html.match(/<nav class="tabs ranges".*?<\/nav>/s)![0].matchAll(
        /<a href="([^"]+)"([^>]*)>([^<]+)</g,
      )].map(([, link, more, name]) => [
        name,
        { link: unescape(link!), isChosen: more!.includes("aria-current") },
      ]),
    );
  const pages = [
    "payments",
    "invoices",
    "checkouts",
    "events",
    "notifications",
    "audit",
    "reports",
  ];
  for (const page of pages) {
    const links = linksOf((await staff.open(`/console/${page}/`)).html);
    assert.deepEqual(Object.keys(links), ["Today", "Yesterday", "This week", "Last month"], page);
    const { status, html } = await staff.open(links["Today"]!.link);
    assert.equal(status, 200, page);
    assert.ok(linksOf(html)["Today"]!.isChosen, page);
    assert.ok(!linksOf(html)["Yesterday"]!.isChosen, page);
  }
  await staff.open("/console/payments/?status=settlement&column=order");
  const { html } = await staff.open(linksOf(staff.page.html)["Today"]!.link);
  assert.deepEqual(orderIdsIn(html), [paid.order_id], "the other filters stay");
  const yesterday = await staff.open(linksOf(html)["Yesterday"]!.link);
  assert.deepEqual(orderIdsIn(yesterday.html), []);
  await staff.post("/console/preferences/", { language: "id", path: "/" });
  assert.deepEqual(Object.keys(linksOf((await staff.open("/console/reports/")).html)), [
    ...["Hari ini", "Kemarin", "Minggu ini", "Bulan lalu"],
  ]);
});

Deno.test("console: a paid payment has a receipt for the customer, in both languages", async () => {
  await using payments = await openPayments({
    databaseUrl: await createDatabase(),
    env: { ...REAL_INSTALLATION, MERCHANT_NAME: "Kopi <Senja>" },
  });
  const paid = await payments.paid("gopay", {
    gross_amount: 150_000,
    item_details: [{ id: "k1", name: "Kopi Gayo", price: 75_000, quantity: 2 }],
    customer_details: { first_name: "Siti", last_name: "Utami", email: "siti@example.com" },
  });
  const pending = await payments.charge("bca");
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${paid.id}/`);
  const path = `/console/payments/${paid.id}/receipt/`;
  assert.ok(staff.page.html.includes(`href="${path}"`));
  const { html } = await staff.open(path);
  const texts = ["Kopi &lt;Senja&gt;", "Payment receipt", paid.order_id, "GoPay", "Siti Utami"];
  for (const text of [...texts, "Kopi Gayo", "Rp 75.000", "Rp 150.000", "WIB"]) {
    assert.ok(html.includes(text), text);
  }
  assert.doesNotMatch(html, /Refunded/);
  await payments.post(`/payments/${paid.id}/refund/`, { amount: 50_000 });
  assert.match((await staff.open(path)).html, /Refunded <span class="amount">Rp 50\.000/);
  await staff.post("/console/preferences/", { language: "id", path: "/" });
  assert.match((await staff.open(path)).html, /Bukti pembayaran.*Jumlah dibayar/s);

  assert.doesNotMatch((await staff.open(`/console/payments/${pending.id}/`)).html, /\/receipt\//);
  assert.equal((await staff.open(`/console/payments/${pending.id}/receipt/`)).status, 404);
});

Deno.test("console: the receipt of a card names the time of the payment, not of the charge or the settlement", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase() });
  const { id } = await payments.paid("card");
  await runSql(
    payments.databaseUrl,
    `update gateway.payments set paid_at = '2026-03-05T10:00:00Z',
      transaction_time = '2026-03-05T09:55:00Z', settlement_time = '2026-03-06T09:00:00Z'`,
  );
  const staff = await openStaff(payments);
  const { html } = await staff.open(`/console/payments/${id}/receipt/`);
  assert.match(html, /Paid on<\/dt><dd><time datetime="2026-03-05T10:00:00\.000Z"/);
});

Deno.test("console: a receipt shows a partial chargeback, and a fully charged-back payment has none", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase() });
  const staff = await openStaff(payments);
  const chargeBack = async (details = {}) => {
    const { id, transaction_id } = await payments.paid("card");
    await payments.sandbox.control(`transactions/${transaction_id}/chargeback`, details);
    await payments.refresh(id);
    return `/console/payments/${id}/`;
  };
  const partly = await chargeBack({ amount: 20_000 });
  const unknown = (await staff.open(`${partly}receipt/`)).html;
  assert.match(unknown, /Charged back <span[^>]*>The gateway has not reported the amount yet/);
  await runSql(
    payments.databaseUrl,
    `update gateway.payments set chargeback_amount = 20000
     where transaction_status = 'partial_chargeback'`,
  );
  assert.ok((await staff.open(partly)).html.includes(`href="${partly}receipt/"`));
  const { html } = await staff.open(`${partly}receipt/`);
  assert.match(html, /Amount paid <span class="amount">Rp 44\.000.*Charged back <span[^>]*>Rp 20/s);
  await staff.post("/console/preferences/", { language: "id", path: "/" });
  const translated = await staff.open(`${partly}receipt/`);
  assert.match(translated.html, /Chargeback <span class="amount">Rp 20\.000/);

  const fully = await chargeBack();
  assert.doesNotMatch((await staff.open(fully)).html, /\/receipt\//);
  assert.equal((await staff.open(`${fully}receipt/`)).status, 404);
});
