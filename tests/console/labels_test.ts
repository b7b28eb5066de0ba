import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { signInTo } from "../support/console/browsing.ts";
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
  for (const name of ["Kartu", "Tagihan Mandiri", "Gerai ritel", "GoPay"]) {
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
    const regions = html.match(/<div[^>]*role="region"[^>]*>/g) ?? [];
    const names = regions.map((region) => region.match(/aria-label="([^"]+)"/)?.[1]);
    assert.ok(names.every(Boolean), path);
    assert.equal(new Set(names).size, names.length, path);
  }
});
