import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import {
  formsOf,
  openStaff,
  openTab,
  orderIdsIn,
  signInTo,
  XSS_PROBE,
} from "../support/console/browsing.ts";
import { CHALLENGED_CARD } from "../support/gateway/sandbox.ts";
import { openAtNoon, today } from "../support/noon.ts";
import { openPayments } from "../support/payments/payments.ts";

Deno.test("console payments: lists, filters and searches the payments of all users", async () => {
  await using payments = await openAtNoon(openPayments);
  const customer = `${randomUUID()}@example.com`;
  const name = { first_name: "Budi", last_name: "Utomo" };
  const email = { customer_details: { ...name, email: customer } };
  const pending = await payments.charge("bca", email);
  const paid = await payments.paid("gopay", email);
  const other = await payments.charge("qris");
  const staff = await openStaff(payments);
  assert.deepEqual(
    orderIdsIn(staff.page.html),
    [other, paid, pending].map((each) => each.order_id),
  );

  const find = async (query: Record<string, string>) => {
    await staff.open(`/console/payments/?${new URLSearchParams(query)}`);
    assert.equal(staff.page.status, 200, staff.page.html);
    return orderIdsIn(staff.page.html);
  };
  assert.deepEqual(await find({ q: customer }), [paid.order_id, pending.order_id]);
  assert.deepEqual(await find({ q: pending.va_number! }), [pending.order_id]);
  await staff.open("/console/payments/?column=name&column=order");
  assert.match(staff.page.html, /<td>Budi Utomo<\/td>/);
  assert.deepEqual(await find({ customer_email: customer, status: "settlement" }), [paid.order_id]);
  assert.deepEqual(await find({ payment_type: "qris" }), [other.order_id]);
  const period = { from: today(), to: today() };
  assert.equal((await find(period)).length, 3);
  assert.deepEqual(await find({ to: "2020-01-01" }), []);
  assert.match(staff.page.html, /No payments were found/);

  // A search has no filters: the page shows none as in use, and says so.
  const filters = { status: "expire", payment_type: "qris", ...period };
  const ignored: Record<string, string>[] = [filters, { outcome: "unknown" }, { owner: "none" }];
  for (const more of ignored) {
    const found = await find({ q: customer, ...more });
    assert.deepEqual(found, [paid.order_id, pending.order_id], JSON.stringify(more));
    const [chosen] = staff.page.html.match(/<ul class="chosen".*?<\/ul>/s)!;
    assert.deepEqual(chosen.match(/Remove [^:"]+/g), ["Remove Search"]);
    assert.doesNotMatch(staff.page.html, /value="expire" checked|aria-current="true"[^>]*>Today/);
    assert.match(staff.page.html, /A search ignores the filters/);
  }
  const [, link] = staff.page.html.match(/href="([^"]+)"[^>]*>Today</)!;
  await staff.open(link!.replaceAll("&amp;", "&"));
  assert.equal(orderIdsIn(staff.page.html).length, 3);
  assert.match(staff.page.html, /<input id="q"[^>]* value=""/);
  assert.doesNotMatch(staff.page.html, /A search ignores the filters|Remove Search/);
  await staff.post("/console/preferences/", { language: "id", path: "/" });
  await find({ q: customer, ...filters });
  assert.match(staff.page.html, /Pencarian mengabaikan filter/);
});

Deno.test("console payments: an invalid filter is named, and the form keeps its values", async () => {
  await using payments = await openPayments();
  const staff = await openStaff(payments);
  for (
    const query of ["q=ab", "status=paid", "from=2026-13-45", "cursor=%00", "payment_type=%3Cb%3E"]
  ) {
    const page = await staff.open(`/console/payments/?${query}`);
    assert.equal(page.status, 400, query);
    assert.match(page.html, /role="alert"/, query);
  }
  assert.match((await staff.open("/console/payments/?q=ab")).html, /value="ab"/);
});

Deno.test("console payment: shows amounts, customer, items, what the customer sees, and refunds", async () => {
  await using payments = await openPayments();
  const payment = await payments.charge("bca", {
    customer_details: { first_name: "Siti", last_name: "Utami", phone: "+628123456789" },
  });
  const staff = await openStaff(payments);
  const { html } = await staff.open(`/console/payments/${payment.id}/`);
  for (const text of ["Rp 44.000", "Siti Utami", "+628123456789", payment.va_number!, "Pending"]) {
    assert.ok(html.includes(text), text);
  }
  assert.match(html, /<time datetime="[^"]+" title="[^"]+UTC">[^<]+WIB<\/time>/);
});

Deno.test("console refund: a part is refunded once, also if the form is sent twice or reloaded", async () => {
  await using payments = await openPayments();
  const payment = await payments.paid("gopay");
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${payment.id}/refund/`);
  const form = formsOf(staff.page.html).find(({ action }) => action.endsWith("/refund/"))!;
  assert.equal(form.fields.amount, "44000", "the form shows the whole amount");
  const fields = { ...form.fields, amount: "10000", reason: "Broken cup" };
  const sent = await Promise.all([
    staff.post(form.action, fields),
    openTab(payments.app, staff).post(form.action, fields),
  ]);
  assert.ok(sent.every(({ status }) => status === 200 || status === 400));
  await staff.post(form.action, fields);
  const stored = await payments.read(payment.id);
  assert.equal(stored.refund_amount, "10000.00");
  assert.deepEqual(stored.refunds.map(({ reason }) => reason), ["Broken cup"]);
  const { html } = await staff.open(`/console/payments/${payment.id}/`);
  assert.match(html, /Partly refunded/);
  assert.match(html, /Broken cup/);
});

Deno.test("console refund: rejects a form that is older than another refund, and an amount above the rest", async () => {
  await using payments = await openPayments();
  const payment = await payments.paid("gopay");
  const staff = await openStaff(payments);
  const stale = openTab(payments.app, staff);
  await stale.open(`/console/payments/${payment.id}/refund/`);
  await staff.open(`/console/payments/${payment.id}/refund/`);
  await staff.submit(/refund/, { amount: "30000" });
  const form = formsOf(stale.page.html).find(({ action }) => action.endsWith("/refund/"))!;
  for (const amount of ["44000", "14000", "5000"]) {
    const { status, html } = await stale.post(form.action, { ...form.fields, amount });
    assert.equal(status, 400);
    assert.match(html, /has changed since the page was opened. Nothing was done/);
    assert.match(html, /At most Rp 14\.000/);
    assert.equal((await payments.read(payment.id)).refund_amount, "30000.00");
  }
  await stale.open(`/console/payments/${payment.id}/refund/`);
  assert.match(
    (await stale.submit(/refund/, { amount: "44000" })).html,
    /must be at most Rp 14\.000/,
  );
  assert.equal((await payments.read(payment.id)).refund_amount, "30000.00");
});

Deno.test("console actions: cancel, expire and check the status work, and say what they did", async () => {
  await using payments = await openPayments();
  const staff = await openStaff(payments);
  const cancelled = await payments.charge("bca");
  await staff.open(`/console/payments/${cancelled.id}/cancel/`);
  assert.match(staff.page.html, /can no longer pay/);
  assert.match((await staff.submit(/cancel/)).html, /The payment is cancelled/);
  assert.equal((await payments.read(cancelled.id)).transaction_status, "cancel");

  const expired = await payments.charge("bca");
  await staff.open(`/console/payments/${expired.id}/expire/`);
  assert.match((await staff.submit(/expire/)).html, /The payment has expired/);

  const paid = await payments.charge("gopay");
  await payments.sandbox.control(`transactions/${paid.transaction_id}/pay`);
  await staff.open(`/console/payments/${paid.id}/`);
  const { html } = await staff.submit(/check-status/);
  assert.match(html, /was checked at the gateway/);
  assert.match(html, /class="status settlement"/);
});

Deno.test("console actions: a challenged card payment is approved", async () => {
  await using payments = await openPayments();
  const token_id = await payments.sandbox.token(CHALLENGED_CARD);
  const payment = await payments.charge("card", { token_id });
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${payment.id}/`);
  assert.match(staff.page.html, /Needs a review/);
  await staff.open(`/console/payments/${payment.id}/approve/`);
  assert.match((await staff.submit(/approve/)).html, /The payment is approved/);
  assert.equal((await payments.read(payment.id)).is_paid, true);
});

Deno.test("console actions: an action that the state does not allow changes nothing", async () => {
  await using payments = await openPayments();
  const payment = await payments.paid("gopay");
  const staff = await openStaff(payments);
  const page = await staff.open(`/console/payments/${payment.id}/cancel/`);
  assert.equal(page.status, 400);
  await staff.submit(/cancel/);
  assert.equal(staff.page.status, 400);
  assert.equal((await payments.read(payment.id)).transaction_status, "settlement");
});

const ACTIONS = ["cancel", "expire", "refund", "capture", "approve", "deny", "check-status"];

Deno.test("console: a viewer sees payments and changes nothing, also by forged requests", async () => {
  await using payments = await openPayments();
  const payment = await payments.charge("bca");
  const viewer = await signInTo(payments.app, await payments.app.createKey({ isViewer: true }));
  const { html } = await viewer.open(`/console/payments/${payment.id}/`);
  assert.match(html, /Viewers cannot change anything/);
  assert.deepEqual(formsOf(html).map(({ action }) => action), [
    "/console/sign-out/",
    "/console/preferences/",
  ]);
  const { token } = formsOf(html)[0]!.fields;
  for (const action of ACTIONS) {
    const path = `/console/payments/${payment.id}/${action}/`;
    const sent = await viewer.post(path, { token: token!, key: randomUUID(), amount: "44000" });
    assert.equal(sent.status, 403, action);
  }
  assert.deepEqual(await payments.read(payment.id), payment);
});

Deno.test("console: a form from another origin, without an origin, or without its token is refused", async () => {
  await using payments = await openPayments();
  const payment = await payments.charge("bca");
  const staff = await openStaff(payments);
  const { token } = formsOf(staff.page.html)[0]!.fields;
  const paths = [
    ...ACTIONS.map((action) => `/console/payments/${payment.id}/${action}/`),
    `/console/sessions/${randomUUID()}/end/`,
    "/console/sign-out/",
  ];
  for (const path of paths) {
    const fields = { token: token!, key: randomUUID(), amount: "44000" };
    for (const origin of ["https://evil.example", "null", ""]) {
      const sent = await staff.post(path, fields, { Origin: origin });
      assert.equal(sent.status, 403, `${path} from ${origin}`);
    }
    for (const wrong of ["", "x", token!.slice(1)]) {
      assert.equal((await staff.post(path, { ...fields, token: wrong })).status, 403, path);
    }
  }
  assert.deepEqual(await payments.read(payment.id), payment);
});

Deno.test("console: text that customers and callers choose is shown as text", async () => {
  await using payments = await openPayments();
  const evil = XSS_PROBE;
  const payment = await payments.charge("gopay", {
    customer_details: { first_name: evil.slice(0, 50), last_name: "&lt;", email: "a@example.com" },
    item_details: [{ name: evil.slice(0, 50), price: 44_000, quantity: 1 }],
  });
  const staff = await openStaff(payments);
  const pages = [
    await staff.open(`/console/payments/${payment.id}/`),
    await staff.open(`/console/payments/?q=${encodeURIComponent(evil)}`),
    await staff.open(`/console/payments/${payment.id}/?done=${encodeURIComponent(evil)}`),
    await staff.open(`/console/${encodeURIComponent(evil)}/`),
  ];
  for (const { html, path } of pages) {
    assert.doesNotMatch(html, /<script>|<img|onerror=alert\(2\)>"/, path);
    assert.equal(html.match(/<script/g)!.length, 1, path);
  }
});

Deno.test("console: every page forbids frames, foreign scripts and caching", async () => {
  await using payments = await openPayments();
  const staff = await openStaff(payments);
  for (
    const path of ["/console/payments/", "/console/sessions/", "/console/sign-in/", "/console/x/"]
  ) {
    const { headers, html } = await staff.open(path);
    const policy = headers.get("content-security-policy")!;
    assert.match(policy, /default-src 'none'; script-src 'self';/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe/);
    assert.equal(headers.get("x-frame-options"), "DENY");
    assert.equal(headers.get("cache-control"), "no-store");
    assert.doesNotMatch(html, /style=|javascript:|<script>/);
    assert.ok(html.length < 60_000);
  }
});

Deno.test("console: pages are in the browser's language, or in the chosen one", async () => {
  await using payments = await openPayments();
  const staff = await openStaff(payments);
  await staff.post("/console/preferences/", { language: "id", path: "/payments/" });
  assert.match(staff.page.html, /<html lang="id"/);
  assert.match(staff.page.html, /<h1>Pembayaran<\/h1>/);
  await staff.post("/console/preferences/", { theme: "dark", path: "//evil.example/" });
  assert.match(staff.page.html, /data-theme="dark"/);
  const sent = await payments.app.fetchUnchecked(
    new Request("http://localhost/console/sign-in/", { headers: { "Accept-Language": "id-ID" } }),
  );
  assert.match(await sent.text(), /Masuk/);
});
