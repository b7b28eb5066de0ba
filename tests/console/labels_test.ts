import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { updateStats } from "../../core/reports/count_payments.ts";
import { formsOf, signInTo } from "../support/console/browsing.ts";
import { writeAmounts } from "../../console/words/messages.ts";
import { createDatabase } from "../support/database/database.ts";
import { openPayments } from "../support/payments/payments.ts";

const databaseUrl = await createDatabase();

const INDONESIAN = { "Accept-Language": "id" };

Deno.test("console: in Indonesian, methods, statuses and the id of a request have Indonesian names", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const staff = await signInTo(app, await app.createKey({ userId: "ops", isStaff: true }));
  const { id } = await payments.charge("bca");
  await staff.open(`/console/payments/${id}/cancel/`);
  await staff.submit(/cancel/);

  const payment = (await staff.open(`/console/payments/${id}/`, INDONESIAN)).html;
  assert.match(payment, /<dd>Virtual account BCA<\/dd>/);
  assert.match(payment, /Menunggu → Dibatalkan/);
  const filters = (await staff.open("/console/payments/", INDONESIAN)).html;
  for (const name of ["Kartu", "Mandiri Bill", "Gerai ritel", "GoPay"]) {
    assert.ok(filters.includes(`> ${name}</label>`), name);
  }
  const missing = await staff.open(`/console/payments/${randomUUID()}/`, INDONESIAN);
  assert.match(missing.html, />Permintaan [\w-]+</);
});

Deno.test("console sessions: the column of roles is named after them", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const staff = await signInTo(app, await app.createKey({ userId: "ops", isStaff: true }));
  const { html } = await staff.open("/console/sessions/");
  assert.match(html, /<th scope="col">Role<\/th>/);
  assert.doesNotMatch(html, /<th scope="col">Status<\/th>/);
});

Deno.test("console status: payments with an unknown outcome lead to their list", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const staff = await signInTo(app, await app.createKey({ userId: "ops", isStaff: true }));
  const { html } = await staff.open("/console/status/");
  const [, path] = html.match(/href="([^"]+)">Payments with unknown outcome/) ?? [];
  assert.equal(path, "/console/payments/?outcome=unknown");
  assert.equal((await staff.open(path)).status, 200);
});

Deno.test("console tables: each has a name for screen readers, and no two of a page have the same", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const staff = await signInTo(app, await app.createKey({ userId: "ops", isStaff: true }));
  const { id } = await payments.paid("gopay");
  for (
    const path of ["payments", `payments/${id}`, "sessions", "status", "jobs/schedule", "keys"]
  ) {
    const { html } = await staff.open(`/console/${path}/`);
    const regions = html.match(/<div[^>]*role="group"[^>]*>/g) ?? [];
    const names = regions.map((region) => region.match(/aria-label="([^"]+)"/)?.[1]);
    assert.ok(names.every(Boolean), path);
    assert.equal(new Set(names).size, names.length, path);
  }
});

Deno.test("console in Bahasa Indonesia: methods, times, card payments and amounts are written as people write them", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const staff = await signInTo(app, await app.createKey({ userId: "ops", isStaff: true }));
  await payments.charge("bca");
  const card = await payments.charge("card");
  const gopay = await payments.paid("gopay");
  while (!(await updateStats(app.service)).is_complete);

  const list = (await staff.open("/console/payments/", INDONESIAN)).html;
  assert.match(list, /<td>Virtual account<\/td>/);
  assert.doesNotMatch(list, /Virtual account Bank/);
  const overview = (await staff.open("/console/", INDONESIAN)).html;
  // In the first hour of a day there is no comparison.
  assert.match(
    overview,
    /Data per [^<]*, \d\d\.\d\d WIB\. Perbandingan (dimulai|[^<]* sampai pukul \d\d\.00 WIB)/,
  );
  const page = (await staff.open(`/console/payments/${card.id}/`, INDONESIAN)).html;
  assert.match(page, /<span class="status capture">Kartu ditagih<\/span>/);
  assert.match(page, /<dt>Ditagih ke kartu<\/dt>/);
  for (const html of [list, overview, page]) assert.doesNotMatch(html, /[Dd]i-capture/);

  await staff.open(`/console/payments/${gopay.id}/refund/`, INDONESIAN);
  const form = formsOf(staff.page.html).find(({ action }) => action.endsWith("/refund/"))!;
  const sent = { ...form.fields, amount: "50000" };
  const { html } = await staff.post(form.action, sent, INDONESIAN);
  assert.match(html, /Jumlah yang dikembalikan: paling banyak Rp 44\.000, yaitu sisa/);
});

Deno.test("messages: amounts of the core are written as people write them", () => {
  const texts = {
    "must be at most 44000, the amount left to refund":
      "must be at most Rp 44.000, the amount left to refund",
    "must add up to at most 9999999999999": "must add up to at most Rp 9.999.999.999.999",
    "must be a whole number of rupiah from 1 to 9999999999999":
      "must be a whole number of rupiah from Rp 1 to Rp 9.999.999.999.999",
    "must be at most 99999999": "must be at most 99.999.999",
    "must be a whole number from 0 to 99999999": "must be a whole number from 0 to 99.999.999",
    "the line is a refund of 40000.00, and": "the line is a refund of Rp 40.000, and",
    "must be at most 15000 characters": "must be at most 15000 characters",
    "must be a date such as 2026-12-31": "must be a date such as 2026-12-31",
  };
  for (const [message, text] of Object.entries(texts)) assert.equal(writeAmounts(message), text);
});
