import assert from "node:assert/strict";
import { formsOf, openStaff, openTab, unescape } from "../support/console/browsing.ts";
import { createDatabase } from "../support/database/database.ts";
import { notify } from "../support/gateway/notifications.ts";
import { openRelayed } from "../support/gateway/relay.ts";
import { CHALLENGED_CARD } from "../support/gateway/sandbox.ts";

const databaseUrl = await createDatabase();

Deno.test("console payment: a confirmation says what happens to a payment in its state", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const staff = await openStaff(payments);
  const effectOf = async (id: string, action: string) => {
    const { html } = await staff.open(`/console/payments/${id}/${action}/`);
    return html.match(/<ul class="effects">(.*?)<\/ul>/)![1]!;
  };
  const pending = await payments.charge("bca");
  assert.match(await effectOf(pending.id, "cancel"), /customer can no longer pay Rp 44\.000/);
  assert.match(await effectOf(pending.id, "expire"), /expires now instead of on \d+ \w+ \d+.* WIB/);
  const authorized = await payments.charge("card_auth");
  assert.match(await effectOf(authorized.id, "cancel"), /releases the reserved Rp 44\.000/);
  assert.match(await effectOf(authorized.id, "capture"), /Rp 44\.000 or a part of it/);
  const captured = await payments.charge("card");
  assert.match(await effectOf(captured.id, "cancel"), /payment of Rp 44\.000 is reversed/);
  const paid = await payments.paid("gopay");
  assert.match(await effectOf(paid.id, "refund"), /customer \(GoPay\)\. You can refund Rp 44\.000/);
});

Deno.test("console payment: an authorization is captured in part", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { id } = await payments.charge("card_auth");
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${id}/capture/`);
  const { html } = await staff.submit(/capture/, { amount: "10000" });
  assert.match(html, /The payment is captured/);
  assert.match(html, /Rp 10\.000/);
  assert.equal((await payments.read(id)).captured_amount, "10000.00");
});

Deno.test("console payment: a challenged card payment is denied", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const token_id = await payments.sandbox.token(CHALLENGED_CARD);
  const { id } = await payments.charge("card", { token_id });
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${id}/deny/`);
  assert.match(staff.page.html, /is rejected. The card is not charged/);
  assert.match((await staff.submit(/deny/)).html, /The payment is denied/);
  const { is_paid, is_failed } = await payments.read(id);
  assert.deepEqual([is_paid, is_failed], [false, true]);
});

Deno.test("console payment: a stale tab does not cancel a payment that was captured meanwhile", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { id } = await payments.charge("card_auth");
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${id}/cancel/`);
  const captured = await payments.post(`/payments/${id}/capture/`, {});
  assert.equal(captured.status, 200);
  const { status, html } = await staff.submit(/cancel/);
  assert.equal(status, 400);
  assert.match(html, /has changed since the page was opened. Nothing was done/);
  assert.match(html, /payment of Rp 44\.000 is reversed/, "the page now says what would happen");
  assert.equal((await payments.read(id)).transaction_status, "capture");
});

Deno.test("console refund: both requests of a double click end at the same refund", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const payment = await payments.paid("gopay");
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${payment.id}/refund/`);
  const form = formsOf(staff.page.html).find(({ action }) => action.endsWith("/refund/"))!;
  const held = payments.relay.holdNext("POST /v2/:id/refund");
  const first = openTab(payments.app, staff).post(form.action, form.fields);
  await held.arrived;
  const second = openTab(payments.app, staff).post(form.action, form.fields);
  held.release();
  for (const { html } of await Promise.all([first, second])) {
    assert.match(html, /The refund was requested/);
  }
  assert.equal(payments.relay.times("POST /v2/:id/refund"), 1);
  assert.equal((await payments.read(payment.id)).refunds.length, 1);
});

Deno.test("console payment: an unknown outcome of a refund is shown, with what happens next", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const payment = await payments.paid("gopay");
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${payment.id}/refund/`);
  payments.relay.intercept = () => new Response("", { status: 502 });
  const { status, html } = await staff.submit(/refund/, { amount: "10000" });
  assert.equal(status, 400);
  assert.match(html, /did not confirm the result. The service checks it automatically/);
  await staff.open(`/console/payments/${payment.id}/`);
  assert.match(
    staff.page.html,
    /class="notice">The gateway has not confirmed a refund of Rp 10\.000.*Do not refund/,
  );
  payments.relay.intercept = (_request, pass) => pass();
  await staff.open(`/console/payments/${payment.id}/refund/`);
  assert.match(staff.page.html, /At most Rp 34\.000/);
});

Deno.test("console payment: a charge that the gateway has not confirmed says so", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const staff = await openStaff(payments);
  payments.relay.intercept = () => new Response("", { status: 502 });
  const sent = await payments.post("/charge/", {
    payment_type: "bank_transfer",
    bank: "bca",
    gross_amount: 44_000,
  });
  const { payment_id, outcome } = await sent.json();
  assert.equal(outcome, "unknown");
  const { html } = await staff.open(`/console/payments/${payment_id}/`);
  assert.match(html, /class="notice">The gateway has not confirmed this charge/);
  const failed = await staff.submit(/check-status/);
  assert.equal(failed.status, 400);
  assert.match(failed.html, /role="alert" class="error"/);
  assert.match(failed.html, /has not confirmed this charge/);
});

Deno.test("console payment: shows the gateway's answers without signatures and tokens", async () => {
  await using payments = await openRelayed({ databaseUrl });
  payments.sandbox.receiver.answer = ({ body }) => notify(payments, body);
  const payment = await payments.paid("card", { save_token_id: true });
  await payments.sandbox.waitForWebhooks();
  payments.sandbox.receiver.answer = () => new Response("OK");
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${payment.id}/`);
  const path = `/console/payments/${payment.id}/gateway/`;
  assert.ok(staff.page.html.includes(`href="${path}"`));
  const stored = await staff.open(path);
  assert.match(unescape(stored.html), /<pre[^>]*>\{\s+".*"transaction_id": "/s);
  assert.match(stored.html, /<\/time> (Captured|Paid): (Applied|Duplicate)/);
  const { html: translated } = await staff.open(path, { "Accept-Language": "id" });
  assert.match(translated, /<\/time> (Kartu ditagih|Lunas): \p{Lu}/u);
  await staff.open(path);
  const { html, status } = await staff.submit(/gateway/);
  assert.equal(status, 200);
  const current = unescape(html).match(/Current answer<\/h2><pre[^>]*>([^]*?)<\/pre>/)![1]!;
  assert.equal(JSON.parse(current).transaction_id, payment.transaction_id);
  for (const page of [stored.html, html]) {
    assert.doesNotMatch(page, /signature_key|saved_token_id&quot;/);
  }
  const audit = await payments.app.as(
    await payments.app.createKey({ isStaff: true }),
    `/audit/?resource_id=${payment.id}&outcome=changed`,
  );
  const changes = (await audit.json()).map(({ action }: { action: string }) => action);
  assert.deepEqual(changes, ["POST /charge/"], "a check at the gateway is no change");

  payments.relay.intercept = () => new Response("", { status: 503 });
  const failed = await staff.submit(/gateway/);
  assert.equal(failed.status, 400);
  assert.match(failed.html, /role="alert" class="error"/);
  assert.doesNotMatch(failed.html, /data-live=/, "a live page loads itself, without the error");
});

Deno.test("console: pages of records with many items, charges and notifications stay below 60 kB", async () => {
  await using payments = await openRelayed({ databaseUrl });
  payments.sandbox.receiver.answer = ({ body }) => notify(payments, body);
  const payment = await payments.paid("gopay");
  await payments.sandbox.waitForWebhooks();
  const { body } = payments.sandbox.hooks[0]!;
  for (let count = 0; count < 60; count++) await notify(payments, body);
  payments.sandbox.receiver.answer = () => new Response("OK");
  const item = { description: "x".repeat(150), price: 75_000, quantity: 2 };
  const created = await payments.post("/invoices/", {
    customer_name: "Budi",
    due_date: "2099-12-31",
    notes: "n".repeat(1000),
    items: Array(100).fill(item),
  });
  const { id } = await created.json();
  const staff = await openStaff(payments);
  for (
    const path of [
      `payments/${payment.id}/`,
      `payments/${payment.id}/gateway/`,
      `invoices/${id}/`,
      "invoices/new/",
    ]
  ) {
    const { html, status } = await staff.open(`/console/${path}`);
    assert.equal(status, 200);
    assert.ok(html.length < 60_000, `${path} has ${html.length} bytes`);
  }
});

Deno.test("console payment: a QR text that is too long for a QR code is shown as text", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { id } = await payments.charge("qris");
  const staff = await openStaff(payments);
  const { html } = await staff.open(`/console/payments/${id}/`);
  assert.match(html, /<dt>QR code<\/dt><dd><svg /);
  const long = "0<i>2".repeat(1_000);
  await payments.app.database.query((sql) =>
    sql`update gateway.payments set qr_string = ${long} where id = ${id}`
  );
  const page = await staff.open(`/console/payments/${id}/`);
  assert.equal(page.status, 200);
  assert.ok(unescape(page.html).includes(`<dd><code>${long}</code></dd>`));
  assert.ok(!page.html.includes("<i>"), "the text is escaped");
});

Deno.test("console refund: staff mark a refund that waits at the bank as refused", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const payment = await payments.paid("gopay");
  await payments.sandbox.fault("refund", "bank_pending");
  const answer = await payments.post(`/payments/${payment.id}/refund/`, { amount: 10_000 });
  const { refund } = await answer.json();
  const staff = await openStaff(payments);
  const path = `/console/payments/${payment.id}/refunds/${refund.id}/mark-denied/`;
  const { html } = await staff.open(`/console/payments/${payment.id}/`);
  assert.ok(html.includes(`href="${path}"`));
  await staff.open(path);
  assert.match(staff.page.html, /The refund of Rp 10\.000 ends as refused by the bank/);
  assert.match((await staff.submit(/mark-denied/)).html, /is marked as refused by the bank/);
  assert.doesNotMatch(staff.page.html, /mark-denied\//);
  assert.deepEqual((await payments.read(payment.id)).refunds.map(({ status }) => status), [
    "denied",
  ]);
});

Deno.test("console payment: a method without refunds says so, and what to do, instead of a form", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const { id } = await payments.paid("bca");
  const staff = await openStaff(payments);
  const texts = {
    en: /BCA virtual accounts have no refunds; return the money by bank transfer/,
    id: /virtual account BCA tidak dapat dikembalikan .*; kembalikan uangnya dengan transfer bank/,
  };
  for (const [language, text] of Object.entries(texts)) {
    const headers = { "Accept-Language": language };
    const page = await staff.open(`/console/payments/${id}/`, headers);
    assert.match(page.html, text);
    assert.ok(!page.html.includes(`/payments/${id}/refund/`));
    const { status, html } = await staff.open(`/console/payments/${id}/refund/`, headers);
    assert.equal(status, 400);
    assert.match(html, text);
    assert.ok(!formsOf(html).some(({ action }) => action.endsWith("/refund/")));
  }
});

Deno.test("console payment: shows the card, no QR code of a paid payment, and metadata line by line", async () => {
  await using payments = await openRelayed({ databaseUrl });
  const staff = await openStaff(payments);
  const factsOf = (html: string) =>
    new Map(
      [...html.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/gs)].map(([, name, value]) =>
        [name!, value!.replaceAll(/<[^>]*>/g, " ").trim()] as const
      ),
    );
  const { id, transaction_id } = await payments.charge("card_3ds", {
    metadata: { cart: "c-1", gift: { wrap: true } },
  });
  await payments.sandbox.control(`transactions/${transaction_id}/three_ds`, { result: "success" });
  await payments.refresh(id);
  const english = factsOf((await staff.open(`/console/payments/${id}/`)).html);
  assert.equal(english.get("Card"), "Visa 48111111-1114");
  assert.equal(english.get("Bank"), "BNI");
  assert.match(english.get("Approval code")!, /^\w+$/);
  assert.equal(english.get("3-D Secure"), "Authenticated by the customer (ECI 05)");
  assert.equal(english.get("Captured"), "Rp 44.000");
  assert.match(unescape(english.get("Metadata")!), /^cart +c-1 +gift +\{\s+"wrap": true\s+\}$/);
  const headers = { "Accept-Language": "id" };
  const indonesian = factsOf((await staff.open(`/console/payments/${id}/`, headers)).html);
  assert.equal(indonesian.get("Kartu"), "Visa 48111111-1114");
  assert.equal(indonesian.get("3-D Secure"), "Terverifikasi oleh pelanggan (ECI 05)");

  const paid = await payments.paid("qris");
  const { html } = await staff.open(`/console/payments/${paid.id}/`, { "Accept-Language": "en" });
  assert.ok(!factsOf(html).has("QR code") && !factsOf(html).has("Captured"));
  assert.equal(factsOf(html).get("Paid"), "Rp 44.000");
});
