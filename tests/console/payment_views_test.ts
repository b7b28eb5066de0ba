import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { openStaff, orderIdsIn, signInTo, XSS_PROBE } from "../support/console/browsing.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { CHALLENGED_CARD, type Json } from "../support/gateway/sandbox.ts";
import { openAtNoon, today } from "../support/noon.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";

const MAX_BYTES = 60_000;

function columnsIn(html: string): string[] {
  return [...html.matchAll(/<th scope="col"[^>]*>([^<]*)<\/th>/g)].map(([, name]) => name!);
}

Deno.test("console payments: every filter of the API finds its payments", async () => {
  await using payments = await openAtNoon(openPayments);
  const { app } = payments;
  const bob = await app.createKey({ userId: "bob" });
  const phone = { customer_details: { first_name: "Budi", phone: "+628123456789" } };
  const bca = await payments.charge("bca", phone);
  const paid = await payments.paid("gopay", { gross_amount: 90_000 });
  const token_id = await payments.sandbox.token(CHALLENGED_CARD);
  const card = await payments.charge("card", { token_id });
  const qris = { payment_type: "qris", gross_amount: 10_000 };
  const bobs = await (await payments.post("/charge/", qris, {}, bob)).json();
  const staff = await openStaff(payments);
  const day = today();
  const found: [string, string[]][] = [
    ["status=pending&status=settlement", [bobs, paid, bca].map(({ order_id }) => order_id)],
    ["payment_type=qris&payment_type=gopay", [bobs.order_id, paid.order_id]],
    [`order_id=${paid.order_id}`, [paid.order_id]],
    [`transaction_id=${bca.transaction_id}`, [bca.order_id]],
    [`va_number=${bca.va_number}`, [bca.order_id]],
    ["customer_phone=0812-3456-789", [bca.order_id]],
    ["fraud_status=challenge", [card.order_id]],
    ["user_id=bob", [bobs.order_id]],
    [`from=${day}&to=${day}&min_amount=80000&max_amount=90000`, [paid.order_id]],
    [`settled_from=${day}&settled_to=${day}`, [paid.order_id]],
    ["settled_to=2020-01-01", []],
    [`invoice_id=${randomUUID()}`, []],
    [`subscription_id=${randomUUID()}`, []],
    ["status=&payment_type=&q=&order_id=", [bobs, card, paid, bca].map((each) => each.order_id)],
  ];
  for (const [query, orderIds] of found) {
    const { status, html } = await staff.open(`/console/payments/?${query}`);
    assert.equal(status, 200, query);
    assert.deepEqual(orderIdsIn(html), orderIds, query);
  }
});

Deno.test("console payments: a filter that the list refuses is named, and the form keeps its values", async () => {
  await using payments = await openPayments();
  const staff = await openStaff(payments);
  const { status, html } = await staff.open("/console/payments/?min_amount=80000&status=expire");
  assert.equal(status, 400);
  assert.match(html, /role="alert".*Amount from \(Rp\): needs/s);
  assert.match(html, /name="min_amount" type="text" value="80000"/);
  assert.match(html, /name="status" value="expire" checked/);
});

Deno.test("console payments: shows the filters in use, and each has a link that removes it", async () => {
  await using payments = await openPayments();
  const staff = await openStaff(payments);
  await staff.open("/console/payments/?status=pending&status=expire&user_id=bob&column=net");
  const [chosen] = staff.page.html.match(/<ul class="chosen".*?<\/ul>/s)!;
  const links = [...chosen.matchAll(/href="([^"]+)"[^>]*aria-label="([^"]+)"/g)].map((
    [, link, text],
  ) => [text, link!.replaceAll("&amp;", "&")]);
  assert.deepEqual(links, [
    ["Remove Status: Pending", "/console/payments/?user_id=bob&status=expire&column=net"],
    ["Remove Status: Expired", "/console/payments/?user_id=bob&status=pending&column=net"],
    ["Remove User: bob", "/console/payments/?status=pending&status=expire&column=net"],
  ]);
  assert.match(chosen, /href="\/console\/payments\/\?column=net"/);
});

Deno.test("console payments: the chosen columns are in the URL, and stay on the next page and in a search", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase() });
  await insertPayments(payments, 51);
  const staff = await openStaff(payments);
  assert.deepEqual(columnsIn((await staff.open("/console/payments/")).html), [
    "Amount",
    "Status",
    "Order",
    "Customer",
    "Method",
    "Created",
  ]);
  const view = "status=settlement&column=order&column=net&column=user&column=nonsense";
  const { html } = await staff.open(`/console/payments/?${view}`);
  assert.deepEqual(columnsIn(html), ["Net", "Order", "User"]);
  const next = html.match(/class="next" href="([^"]+)"/)![1]!.replaceAll("&amp;", "&");
  assert.match(next, /\?status=settlement&column=net&column=order&column=user&cursor=/);
  const last = await staff.open(next);
  assert.deepEqual(columnsIn(last.html), ["Net", "Order", "User"]);
  assert.equal(orderIdsIn(last.html).length, 1);
  const [search] = html.match(/<form class="search".*?<\/form>/s)!;
  assert.equal(search.match(/name="column"/g)!.length, 3);
});

Deno.test("console payments: the view stays when the language is changed", async () => {
  await using payments = await openPayments();
  const staff = await openStaff(payments);
  const change = (referer: string) =>
    staff.post("/console/preferences/", { language: "id", path: "/payments/" }, {
      Referer: referer,
    });
  const view = "/console/payments/?status=pending&column=net";
  assert.equal((await change(`http://console.example${view}`)).path, view);
  assert.match(staff.page.html, /Status: Menunggu/);
  assert.equal(
    (await change("http://console.example/console/jobs/?x=1")).path,
    "/console/payments/",
  );
});

Deno.test("console: the export of a view has exactly its payments, like the API's export with these filters", async () => {
  await using payments = await openPayments();
  const { app } = payments;
  const email = `${randomUUID()}@example.com`;
  await payments.paid("gopay", { customer_details: { first_name: "=1+1", email } });
  await payments.charge("bca", { customer_details: { first_name: "Siti", email } });
  await payments.charge("qris");
  const key = await app.createKey({ userId: "ops", isStaff: true });
  const staff = await signInTo(app, key);
  const views: [string, string, number][] = [
    ["", "", 3],
    ["payment_type=gopay&payment_type=qris", "payment_type=gopay&payment_type=qris", 2],
    [`q=${email}`, `customer_email=${email}`, 2],
    [`customer_email=${email}&status=pending`, `customer_email=${email}&status=pending`, 1],
    ["from=2020-01-01&to=2020-01-02", "created_to=2020-01-03T00:00:00Z", 0],
  ];
  for (const [view, query, count] of views) {
    await staff.open(`/console/payments/?${view}`);
    const [, link] = staff.page.html.match(/href="(\/console\/payments\/export\/[^"]*)"[^>]*>CSV/)!;
    const file = await staff.open(link!.replaceAll("&amp;", "&"));
    assert.equal(file.status, 200, file.html);
    assert.match(file.headers.get("content-disposition")!, /attachment; filename="payments.csv"/);
    const expected = await (await app.as(key, `/exports/payments/?bom=true&${query}`)).text();
    assert.equal(file.html, expected, view);
    assert.equal(file.html.split("\r\n").length, count + 2, view);
  }
  const refused = await staff.open("/console/payments/export/?status=nonsense");
  assert.equal(refused.status, 400);
});

Deno.test("console: the export of refunds has only those of the chosen status", async () => {
  await using payments = await openPayments();
  const payment = await payments.paid("gopay");
  await payments.post(`/payments/${payment.id}/refund/`, { amount: 10_000 });
  const staff = await openStaff(payments);
  for (const [status, count] of [["succeeded", 1], ["denied", 0]] as const) {
    await staff.open(`/console/refunds/?status=${status}`);
    const [, link] = staff.page.html.match(/href="(\/console\/refunds\/export\/[^"]*)"[^>]*>CSV/)!;
    const { html } = await staff.open(link!);
    assert.equal(html.split("\r\n").length, count + 2, status);
  }
});

Deno.test("console exports: the audit records who exported what, also for viewers", async () => {
  await using payments = await openPayments();
  const { app } = payments;
  const staffKey = await app.createKey({ userId: "ops", isStaff: true });
  const viewer = await signInTo(app, await app.createKey({ userId: "auditor", isViewer: true }));
  await viewer.open("/console/payments/export/?status=pending");
  await viewer.open("/console/refunds/export/");
  await viewer.open("/console/payments/export/?status=nonsense");
  await viewer.open("/console/reports/totals.csv");
  await viewer.open("/console/reports/totals.xlsx");
  const entries = await (await payments.get("/audit/?outcome=exported", staffKey)).json();
  assert.deepEqual(
    entries.map(({ user_id, action, status }: Json) => [user_id, action, status]),
    [
      ["auditor", "GET /console/reports/totals.xlsx/", 200],
      ["auditor", "GET /console/reports/totals.csv/", 200],
      ["auditor", "GET /console/refunds/export/", 200],
      ["auditor", "GET /console/payments/export/", 200],
    ],
  );
});

Deno.test("console exports: share the limit of the API's exports, and need a session", async () => {
  await using payments = await openPayments();
  const { app } = payments;
  const key = await app.createKey({ userId: "ops", isStaff: true });
  const staff = await signInTo(app, key);
  const open = [1, 2, 3].map(() => app.as(key, "/exports/payments/"));
  const responses = await Promise.all(open);
  assert.equal((await staff.open("/console/payments/export/")).status, 429);
  for (const response of responses) await response.text();
  assert.equal((await staff.open("/console/payments/export/")).status, 200);
  const response = await app.fetchUnchecked(
    new Request("http://localhost/console/payments/export/"),
  );
  assert.equal(response.status, 303);
});

Deno.test("console: every page of the navigation opens, is marked as current, and has at most 60 kB", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase() });
  await insertPayments(payments, 60);
  const staff = await openStaff(payments);
  const [navigation] = staff.page.html.match(/<nav.*?<\/nav>/s)!;
  const paths = [...navigation.matchAll(/href="([^"]+)"/g)].map(([, path]) => path!);
  assert.ok(paths.length >= 8);
  for (const path of paths) {
    const { status, html } = await staff.open(path);
    assert.equal(status, 200, path);
    assert.ok(html.includes(`<a href="${path}" aria-current="page">`), path);
    assert.ok(byteLength(html) <= MAX_BYTES, `${path} has ${byteLength(html)} bytes`);
  }
  const columns = [...(await staff.open("/console/payments/")).html
    .matchAll(/name="column" value="(\w+)"/g)].map(([, column]) => `column=${column}`);
  assert.ok(columns.length > 10);
  const { html } = await staff.open(`/console/payments/?${columns.join("&")}`);
  assert.equal(columnsIn(html).length, columns.length);
  assert.equal(orderIdsIn(html).length, 50);
  assert.ok(byteLength(html) <= MAX_BYTES, `all columns: ${byteLength(html)} bytes`);
});

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

Deno.test("console payments: texts of customers and of the URL are shown as text", async () => {
  await using payments = await openPayments();
  const evil = XSS_PROBE;
  await payments.charge("gopay", { customer_details: { first_name: evil.slice(0, 50) } });
  const staff = await openStaff(payments);
  const value = encodeURIComponent(evil);
  const names = ["q", "user_id", "order_id", "transaction_id", "status", "payment_type", "outcome"];
  const queries = ["column=name&column=order", ...names.map((name) => `${name}=${value}`)];
  for (const query of [...queries, `column=${value}`, `cursor=${value}`, `from=${value}`]) {
    const { html } = await staff.open(`/console/payments/?${query}`);
    assert.equal(html.match(/<script/g)!.length, 1, query);
    assert.doesNotMatch(html, /<img/, query);
  }
});

/** Paid payments with long texts, as real ones have. */
async function insertPayments({ databaseUrl }: TestPayments, count: number): Promise<void> {
  await runSql(
    databaseUrl,
    `insert into gateway.payments (id, user_id, order_id, transaction_id, payment_type, gross_amount,
      captured_amount, currency, transaction_status, customer_email, customer_first_name,
      settlement_time, sent_at, created_at, updated_at)
    select uuidv7(), gen_random_uuid(), gen_random_uuid() || '-p', gen_random_uuid(),
      'bank_transfer', 1234567, 1234567, 'IDR', 'settlement',
      'a.customer.with.a.long.name' || n || '@example.com', 'Siti Nurhaliza', now(), now(), now(),
      now()
    from generate_series(1, ${count}) n`,
  );
}
