import assert from "node:assert/strict";
import { dayInWib } from "../../core/gateway/times.ts";
import { randomUUID } from "node:crypto";
import {
  type Checkout,
  openCheckouts,
  type TestCheckouts,
} from "../support/checkouts/checkouts.ts";
import {
  type Browsing,
  formsOf,
  openStaff,
  openTab,
  orderIdsIn,
  signInTo,
  unescape,
} from "../support/console/browsing.ts";
import { createDatabase } from "../support/database/database.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { openPayments } from "../support/payments/payments.ts";

const databaseUrl = await createDatabase();

/** The customer pays the last attempt, and the service finds out. */
async function payAndCheck(checkouts: TestCheckouts, checkout: Checkout): Promise<string> {
  const { id } = (await checkouts.paymentsOf(checkout)).at(-1)!;
  const { transaction_id } = await checkouts.read(id);
  await checkouts.sandbox.control(`transactions/${transaction_id}/pay`);
  await checkouts.refresh(id);
  await runDueJobs(checkouts.app);
  assert.equal((await checkouts.readCheckout(checkout.id)).status, "paid");
  return id;
}

Deno.test("console checkouts: lists and filters the checkouts of all users", async () => {
  await using checkouts = await openCheckouts({ databaseUrl: await createDatabase() });
  const open = await checkouts.create({ order_id: "order-1" });
  const chosen = await checkouts.create({ order_id: "order-2" });
  await checkouts.choose(chosen, "bca_va");
  const cancelled = await checkouts.create({ order_id: "order-3" });
  await checkouts.post(`/checkouts/${cancelled.id}/cancel/`, {});
  const staff = await openStaff(checkouts);
  const find = async (...query: [string, string][]) => {
    await staff.open(`/console/checkouts/?${new URLSearchParams(query)}`);
    assert.equal(staff.page.status, 200, staff.page.html);
    return orderIdsIn(staff.page.html);
  };
  assert.deepEqual(await find(), ["order-3", "order-2", "order-1"]);
  assert.match(staff.page.html, /Rp 150\.000/);
  assert.match(staff.page.html, /<td>BCA virtual account<\/td>/);
  assert.match(staff.page.html, /class="status plain">Cancelled/);
  assert.ok(staff.page.html.includes(`href="/console/checkouts/${open.id}/"`));
  assert.ok(!staff.page.html.includes("/pay/"), "a list has no links of customers");
  assert.deepEqual(await find(["status", "open"]), ["order-2", "order-1"]);
  assert.deepEqual(await find(["status", "cancelled"], ["status", "paid"]), ["order-3"]);
  assert.deepEqual(await find(["order_id", "order-1"]), ["order-1"]);
  const day = dayInWib(new Date(cancelled.created_at));
  assert.deepEqual(await find(["from", "2020-01-01"], ["to", day]), await find());
  assert.deepEqual(await find(["to", "2020-01-01"]), []);
  assert.match(staff.page.html, /No checkouts were found/);
  for (const query of ["status=x", "from=2026-13-45", "cursor=%00", "order_id=a&order_id=b"]) {
    const { status, html } = await staff.open(`/console/checkouts/?${query}`);
    assert.equal(status, 400, query);
    assert.match(html, /role="alert" class="error"><p>The filter is not valid/, query);
  }
});

Deno.test("console search: the order id of a checkout finds the payments of all its attempts", async () => {
  await using checkouts = await openCheckouts({ databaseUrl: await createDatabase() });
  const checkout = await checkouts.create({ order_id: "order-1893" });
  for (const method of ["bca_va", "gopay", "qris"]) await checkouts.choose(checkout, method);
  await checkouts.charge("bca", { order_id: "order-1800" });
  const staff = await openStaff(checkouts);
  await staff.open("/console/payments/?q=order-1893");
  const names = ["order-1893~3", "order-1893~2", "order-1893"];
  assert.deepEqual(orderIdsIn(staff.page.html), names);
  await staff.open("/console/payments/?q=order-1893~2");
  assert.deepEqual(orderIdsIn(staff.page.html), ["order-1893~2"]);
});

Deno.test("console checkouts: the next page keeps the filters", async () => {
  await using checkouts = await openCheckouts({ databaseUrl: await createDatabase() });
  for (let count = 0; count < 51; count++) await checkouts.create();
  const staff = await openStaff(checkouts);
  await staff.open("/console/checkouts/?status=open&status=paid");
  assert.equal(orderIdsIn(staff.page.html).length, 50);
  const [, next] = staff.page.html.match(/<a class="next" href="([^"]+)"/)!;
  const search = new URL(unescape(next!), "http://x").searchParams;
  assert.deepEqual(search.getAll("status"), ["open", "paid"]);
  await staff.open(unescape(next!));
  assert.equal(orderIdsIn(staff.page.html).length, 1);
  assert.doesNotMatch(staff.page.html, /class="next"|data-live="/);
});

Deno.test("console checkout: shows attempts with their payments, the link, and the timeline", async () => {
  await using checkouts = await openCheckouts({ databaseUrl });
  const checkout = await checkouts.create({
    enabled_payments: ["gopay", "bca_va", "indomaret"],
    metadata: { cart: "c-1893" },
    finish_url: "https://shop.example/thanks",
  });
  const staff = await openStaff(checkouts);
  const path = `/console/checkouts/${checkout.id}/`;
  const { html } = await staff.open(path);
  for (
    const text of [
      "Rp 150.000",
      checkout.order_id,
      "GoPay, BCA virtual account, Indomaret",
      "https://shop.example/thanks",
      '<span class="faint">cart</span>c-1893',
      "has not chosen a method",
    ]
  ) assert.ok(unescape(html).includes(text), text);
  assert.ok(
    html.includes(`<code id="payment-link" class="secret">${checkout.checkout_url}</code>`),
  );
  assert.match(html, /data-copy="payment-link"/);

  await checkouts.choose(checkout, "bca_va");
  await checkouts.choose(checkout, "gopay");
  const paid = await payAndCheck(checkouts, checkout);
  const [first] = await checkouts.paymentsOf(checkout);
  const page = (await staff.open(path)).html;
  assert.match(page, /class="status good">Paid/);
  assert.match(page, /Open → Paid/);
  assert.match(page, /checkout_completed/);
  assert.match(page, /cannot be cancelled/);
  for (const { id, name } of [{ ...first!, name: "closed" }, { id: paid, name: "paid" }]) {
    assert.ok(page.includes(`href="/console/payments/${id}/"`), name);
  }
  assert.ok(page.includes(`${checkout.order_id}~2</a>`));
  assert.doesNotMatch(page, /class="notice"/);

  const payment = (await staff.open(`/console/payments/${paid}/`)).html;
  assert.ok(payment.includes(`href="${path}"`), "the payment links to its checkout");
  const { payment_page_url } = await checkouts.read(paid);
  assert.ok(payment.includes(`class="secret">${payment_page_url}</code>`));
  const viewer = await signInTo(checkouts.app, await checkouts.app.createKey({ isViewer: true }));
  for (const each of [path, `/console/payments/${paid}/`]) {
    const { status, html } = await viewer.open(each);
    assert.equal(status, 200);
    assert.doesNotMatch(html, /\/pay\/|data-copy/, "a viewer gets no link that can pay");
  }
});

Deno.test("console checkout: says what to do if it was paid late, or twice", async () => {
  await using checkouts = await openCheckouts({ databaseUrl });
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "bca_va");
  await checkouts.choose(checkout, "gopay");
  const paid = await payAndCheck(checkouts, checkout);
  const [extra] = await checkouts.paymentsOf(checkout);
  await checkouts.app.database.query((sql) =>
    sql`update gateway.checkouts set is_late = true, extra_payment_id = ${extra!.id}
      where id = ${checkout.id}`
  );
  const staff = await openStaff(checkouts);
  const { html } = await staff.open(`/console/checkouts/${checkout.id}/`);
  const notices = [...html.matchAll(/<p class="notice">(.*?)<\/p>/gs)].map(([, text]) => text!);
  assert.equal(notices.length, 2);
  assert.match(notices[0]!, /paid this order twice. Refund one of the two/);
  for (const id of [paid, extra!.id]) assert.ok(notices[0]!.includes(`/payments/${id}/`));
  assert.match(notices[1]!, /had expired or was cancelled.*deliver it, or refund/s);
  assert.ok(notices[1]!.includes(`/payments/${paid}/`));
  const list = await staff.open(`/console/checkouts/?order_id=${checkout.order_id}`);
  assert.match(list.html, /class="status bad">Paid late.*class="status bad">Paid twice/s);
  const translated = await staff.open(`/console/checkouts/${checkout.id}/`, {
    "Accept-Language": "id",
  });
  assert.match(translated.html, /membayar pesanan ini dua kali/);
});

/** Opens the form for a checkout, and fills it in up to the page that shows it. */
async function fillAndReview(staff: Browsing, fields: Record<string, string> = {}) {
  await staff.open("/console/checkouts/new/");
  return await staff.submit(/new/, { gross_amount: "75.000", step: "review", ...fields });
}

Deno.test("console checkout form: creates the checkout that its second page has shown", async () => {
  await using checkouts = await openCheckouts({ databaseUrl: await createDatabase() });
  const staff = await openStaff(checkouts);
  const expires = new Date(Date.now() + 3 * 86_400_000);
  const inJakarta = new Date(expires.getTime() + 7 * 3_600_000).toISOString().slice(0, 16);
  const review = await fillAndReview(staff, {
    order_id: "order-7",
    expires_at: inJakarta,
    "customer_details.first_name": "Siti",
    "customer_details.email": "siti@example.com",
    "enabled_payments.bca_va": "on",
    "enabled_payments.qris": "on",
    language: "id",
    finish_url: "https://shop.example/thanks",
  });
  assert.equal(review.status, 200, review.html);
  for (const text of ["Check the checkout", "Rp 75.000", "order-7", "QRIS, BCA virtual account"]) {
    assert.ok(review.html.includes(text), text);
  }
  assert.equal((await (await checkouts.get("/checkouts/")).json()).length, 0);
  const { html, path } = await staff.submit(/new/, { step: "create" });
  assert.match(html, /The checkout was created. Copy its link/);
  const [, id] = path.match(/\/console\/checkouts\/([^/]+)\//)!;
  const key = await checkouts.app.createKey({ isStaff: true });
  const checkout: Checkout = await (await checkouts.get(`/checkouts/${id}/`, key)).json();
  assert.deepEqual(
    [checkout.gross_amount, checkout.order_id, checkout.enabled_payments, checkout.language],
    ["75000.00", "order-7", ["qris", "bca_va"], "id"],
  );
  assert.equal(checkout.expires_at.slice(0, 16), expires.toISOString().slice(0, 16));
  assert.equal(checkout.finish_url, "https://shop.example/thanks");
  await checkouts.choose(checkout, "bca_va");
  const [payment] = await (await checkouts.get("/payments/?order_id=order-7", key)).json();
  assert.equal(payment.customer_email, "siti@example.com");
  const audit = await (await checkouts.get("/audit/?outcome=changed", key)).json();
  const own = audit.filter(({ resource_id }: { resource_id: string }) => resource_id === id);
  assert.equal(own.length, 1, "only the creation is in the audit log");
  assert.doesNotMatch(JSON.stringify(own), /\/pay\//);
});

Deno.test("console checkout form: shows errors at their fields and keeps what was entered", async () => {
  await using checkouts = await openCheckouts({ databaseUrl });
  const staff = await openStaff(checkouts);
  const { status, html } = await fillAndReview(staff, {
    gross_amount: "1,5",
    order_id: "a b",
    expires_at: "tomorrow",
    "customer_details.email": "no-address",
    "enabled_payments.gopay": "on",
    cancel_url: "shop",
  });
  assert.equal(status, 400);
  assert.match(html, /Nothing was created. Correct the marked fields/);
  const errors = [...html.matchAll(/<p id="([\w.]+)-error" class="field-error">([^<]+)/g)]
    .map(([, field]) => field);
  assert.deepEqual(errors, [
    "gross_amount",
    "order_id",
    "expires_at",
    "customer_details.email",
    "cancel_url",
  ]);
  const { fields } = formsOf(html).find(({ action }) => action.endsWith("/new/"))!;
  assert.equal(fields.gross_amount, "1,5");
  assert.equal(fields["customer_details.email"], "no-address");
  assert.match(html, /name="enabled_payments\.gopay" checked/);

  await fillAndReview(staff, { expires_at: "2020-01-01T10:00" });
  assert.match((await staff.submit(/new/, { step: "create" })).html, /id="expires_at-error"/);
  const known = await checkouts.create();
  await fillAndReview(staff, { order_id: known.order_id });
  const taken = await staff.submit(/new/, { step: "create" });
  assert.match(taken.html, /id="order_id-error"[^>]*>The order id [^<]+ is already in use/);
  await staff.submit(/new/, { step: "review", order_id: "" });
  assert.match((await staff.submit(/new/, { step: "create" })).html, /The checkout was created/);
});

Deno.test("console checkout form: a double click and a reload create one checkout", async () => {
  await using checkouts = await openCheckouts({ databaseUrl: await createDatabase() });
  const staff = await openStaff(checkouts);
  await fillAndReview(staff);
  const form = formsOf(staff.page.html).find(({ action }) => action.endsWith("/new/"))!;
  const fields = { ...form.fields, step: "create" };
  const wrong = await staff.post(form.action, { ...fields, amount: "1" });
  assert.equal(wrong.status, 400);
  assert.match(wrong.html, /not the one that was shown/);
  const tabs = [1, 2].map(() => openTab(checkouts.app, staff).post(form.action, fields));
  for (const { html } of [...await Promise.all(tabs), await staff.post(form.action, fields)]) {
    assert.match(html, /The checkout was created/);
  }
  const changed = await staff.post(form.action, {
    ...fields,
    gross_amount: "80000",
    amount: "80000",
  });
  assert.match(changed.html, /already used for another checkout/);
  const key = await checkouts.app.createKey({ isStaff: true });
  assert.equal((await (await checkouts.get("/checkouts/", key)).json()).length, 1);
});

Deno.test("console checkout form: names the missing setting PUBLIC_URL", async () => {
  await using payments = await openPayments({ databaseUrl });
  const staff = await openStaff(payments);
  await fillAndReview(staff);
  const { status, html } = await staff.submit(/new/, { step: "create" });
  assert.equal(status, 400);
  assert.match(html, /ask your operators to set PUBLIC_URL/);
});

Deno.test("console cancel: closes the payment of a checkout, says what happens, and acts once", async () => {
  await using checkouts = await openCheckouts({ databaseUrl });
  const checkout = await checkouts.create({ order_id: randomUUID() });
  await checkouts.choose(checkout, "bca_va");
  const staff = await openStaff(checkouts);
  await staff.open(`/console/checkouts/${checkout.id}/`);
  assert.ok(staff.page.html.includes(`href="/console/checkouts/${checkout.id}/cancel/"`));
  await staff.open(`/console/checkouts/${checkout.id}/cancel/`);
  assert.match(staff.page.html, /The customer can no longer pay Rp 150\.000/);
  const form = formsOf(staff.page.html).find(({ action }) => action.endsWith("/cancel/"))!;
  const tabs = [1, 2].map(() => openTab(checkouts.app, staff).post(form.action, form.fields));
  for (const { html } of [...await Promise.all(tabs), await staff.post(form.action, form.fields)]) {
    assert.match(html, /The checkout is cancelled/);
    assert.match(html, /class="status plain">Cancelled/);
  }
  const [payment] = await checkouts.paymentsOf(checkout);
  assert.equal((await checkouts.read(payment!.id)).transaction_status, "expire");
  assert.equal((await checkouts.readCheckout(checkout.id)).status, "cancelled");
  const key = await checkouts.app.createKey({ isStaff: true });
  const audit = await (await checkouts.get("/audit/?outcome=changed", key)).json();
  const own = audit.filter((each: Record<string, string>) => each.resource_id === checkout.id);
  assert.deepEqual(
    own.map(({ action }: { action: string }) => action),
    ["POST /console/checkouts/{id}/cancel/", "POST /checkouts/"],
    "the repeated requests are not recorded as changes",
  );
  assert.equal((await staff.open(form.action)).status, 400, "it has ended");
});

Deno.test("console cancel: a stale tab does nothing", async () => {
  await using checkouts = await openCheckouts({ databaseUrl });
  const checkout = await checkouts.create();
  await checkouts.choose(checkout, "gopay");
  const staff = await openStaff(checkouts);
  await staff.open(`/console/checkouts/${checkout.id}/cancel/`);
  await payAndCheck(checkouts, checkout);
  const { status, html } = await staff.submit(/cancel/);
  assert.equal(status, 400);
  assert.match(html, /has changed since the page was opened. Nothing was done/);
  assert.match(html, /class="status good">Paid/);
  const again = await staff.submit(/cancel/);
  assert.equal(again.status, 400);
  assert.match(again.html, /Refund its payment instead/);
});
