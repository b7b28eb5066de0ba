import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import {
  type Browsing,
  formsOf,
  openStaff,
  openTab,
  signInTo,
  unescape,
} from "../support/console/browsing.ts";
import { createDatabase } from "../support/database/database.ts";
import { openAtNoon, today } from "../support/noon.ts";
import {
  CREATE,
  DAY,
  dayOf,
  type Invoice,
  openInvoices,
  sentInvoices,
  type TestInvoices,
} from "../support/records/invoices.ts";

const databaseUrl = await createDatabase();

/** The invoice numbers in a list. */
function numbersIn(html: string): string[] {
  return [...html.matchAll(/<td><a href="\/console\/invoices\/[^"]+">([^<]+)<\/a><\/td>/g)]
    .map(([, number]) => number!);
}

/** Pays the invoice, and lets the service know. */
async function payAndCheck(invoices: TestInvoices, invoice: Invoice): Promise<void> {
  invoices.connect();
  await invoices.pay(invoice);
  await invoices.sandbox.waitForWebhooks();
  await invoices.runJobs();
  assert.equal((await invoices.find(invoice.id)).status, "paid");
}

Deno.test("console invoices: lists and filters the invoices of all users", async () => {
  const databaseUrl = await createDatabase();
  await using invoices = await openAtNoon((options) => openInvoices({ databaseUrl, ...options }));
  const email = `${randomUUID()}@example.com`;
  const open = await invoices.create({
    customer_email: email,
    order_id: `o-${randomUUID().slice(9)}`,
  });
  const late = await invoices.create({ due_date: dayOf(invoices.now() + 30 * DAY) });
  const voided = await invoices.create({}, {}, invoices.staff);
  await invoices.post(`/invoices/${voided.id}/void/`, {}, {}, invoices.staff);
  const staff = await openStaff(invoices);
  const find = async (...query: [string, string][]) => {
    await staff.open(`/console/invoices/?${new URLSearchParams(query)}`);
    assert.equal(staff.page.status, 200, staff.page.html);
    return numbersIn(staff.page.html);
  };
  const [first, second, third] = [open, late, voided].map((each) => each.invoice_number);
  assert.deepEqual(await find(), [third, second, first]);
  assert.match(staff.page.html, /Rp 160\.000/);
  assert.deepEqual(await find(["status", "void"]), [third]);
  assert.deepEqual(await find(["status", "void"], ["status", "sent"]), [third, second, first]);
  assert.equal(staff.page.html.match(/ checked/g)?.length, 2, "the form keeps both");
  assert.deepEqual(await find(["customer_email", email]), [first]);
  assert.deepEqual(await find(["invoice_number", second!]), [second]);
  assert.deepEqual(await find(["order_id", open.order_id]), [first]);
  assert.deepEqual(await find(["due_from", dayOf(invoices.now() + 10 * DAY)]), [second]);
  assert.deepEqual(
    await find(["due_to", dayOf(invoices.now() + 10 * DAY)], ["status", "sent"]),
    [first],
  );
  assert.equal((await find(["from", today()], ["to", today()])).length, 3);
  assert.deepEqual(await find(["to", "2020-01-01"]), []);
  assert.match(staff.page.html, /No invoices were found/);
  assert.deepEqual(await find(["customer_email", ""], ["due_to", ""]), [third, second, first]);
});

Deno.test("console invoices: an invalid filter is named, and the form keeps its values", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const staff = await openStaff(invoices);
  const queries = [
    "status=open",
    "due_from=2026-13-45",
    "from=2026-13-45",
    "due_from=2026-12-02&due_to=2026-12-01",
    "from=2026-12-02&to=2026-12-01",
    "customer_email=no-address",
    "cursor=%00",
    "order_id=a&order_id=b",
  ];
  for (const query of queries) {
    const { status, html } = await staff.open(`/console/invoices/?${query}`);
    assert.equal(status, 400, query);
    assert.match(html, /role="alert" class="error"><p>The filter is not valid/, query);
  }
  const { html } = await staff.open("/console/invoices/?customer_email=no-address");
  assert.match(html, /value="no-address"/);
});

Deno.test("console invoices: the next page keeps the filters", async () => {
  await using invoices = await openInvoices({ databaseUrl: await createDatabase() });
  const email = "many@example.com";
  for (let count = 0; count < 51; count++) await invoices.create({ customer_email: email });
  const staff = await openStaff(invoices);
  await staff.open(`/console/invoices/?customer_email=${email}&status=sent&status=overdue`);
  assert.equal(numbersIn(staff.page.html).length, 50);
  const [, next] = staff.page.html.match(/<a class="next" href="([^"]+)"/)!;
  const search = new URL(unescape(next!), "http://x").searchParams;
  assert.deepEqual(search.getAll("status"), ["sent", "overdue"]);
  await staff.open(unescape(next!));
  assert.equal(numbersIn(staff.page.html).length, 1);
  assert.doesNotMatch(staff.page.html, /class="next"|data-live="/);
});

Deno.test("console invoices: the export has exactly the invoices of the view, and is audited", async () => {
  await using invoices = await openInvoices({ databaseUrl: await createDatabase() });
  const { app } = invoices;
  const email = "export@example.com";
  const open = await invoices.create({ customer_email: email, customer_name: "=1+1" });
  await invoices.create();
  const voided = await invoices.create({ customer_email: email });
  await invoices.void(voided.id);
  const viewer = await signInTo(app, await app.createKey({ userId: "rina", isViewer: true }));
  await viewer.open(`/console/invoices/?customer_email=${email}&status=sent&due_to=2099-01-01`);
  const [, link] = viewer.page.html.match(/href="([^"]+)"[^>]*>CSV/)!;
  const { status, html: csv, headers } = await viewer.open(unescape(link!));
  assert.equal(status, 200);
  assert.equal(headers.get("content-disposition"), 'attachment; filename="invoices.csv"');
  assert.match(headers.get("content-type")!, /^text\/csv/);
  const lines = csv.trim().split("\r\n");
  assert.equal(lines.length, 2, csv);
  assert.ok(lines[1]!.includes(open.invoice_number));
  assert.ok(lines[1]!.includes("'=1+1"), "a spreadsheet runs no formula of a customer");
  const audit = await (await app.as(invoices.staff, "/audit/?outcome=exported")).json();
  assert.deepEqual(
    audit.map((entry: Record<string, unknown>) => [entry.user_id, entry.action, entry.status]),
    [["rina", "GET /console/invoices/export/", 200]],
  );
  const invalid = await viewer.open("/console/invoices/export/?status=open");
  assert.equal(invalid.status, 400);
  const stranger = await signInTo(app, "gk_wrong");
  assert.equal((await stranger.open("/console/invoices/export/")).path, "/console/sign-in/");
});

Deno.test("console invoice: shows amounts, customer, items, link, payments and timeline", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const invoice = await invoices.create({
    customer_name: "Siti Utami",
    customer_phone: "628123456789",
    notes: "First line\nSecond line",
  });
  const staff = await openStaff(invoices);
  const path = `/console/invoices/${invoice.id}/`;
  const { html } = await staff.open(path);
  for (
    const text of [
      "Rp 160.000",
      "Siti Utami",
      "628123456789",
      "Coffee beans, 1 kg",
      "Rp 150.000",
      "First line\nSecond line",
      invoice.invoice_number,
      invoice.order_id,
      invoice.payment_link_url!,
      "invoice_created",
      "Open",
    ]
  ) assert.ok(html.includes(text), text);
  assert.match(html, /<code id="payment-link" class="secret">http/);
  assert.match(html, /data-copy="payment-link"/);
  assert.match(html, /has not started a payment/);
  // The gateway sends no invoice to the customer.
  assert.match(html, /Invoice open/);
  assert.doesNotMatch(html, /Invoice sent/);
  const indonesian = await staff.open(path, { "Accept-Language": "id" });
  assert.match(indonesian.html, /Invoice terbuka/);

  await payAndCheck(invoices, invoice);
  const [payment] = await invoices.paymentsOf(invoice);
  await staff.open(path);
  assert.match(staff.page.html, /class="status good">Paid/);
  assert.ok(staff.page.html.includes(`href="/console/payments/${payment!.id}/"`));
  assert.doesNotMatch(staff.page.html, /\/void\//);
  await staff.open(`/console/payments/${payment!.id}/`);
  assert.ok(staff.page.html.includes(`href="${path}"`), "the payment links to its invoice");
});

Deno.test("console invoice: a check at the gateway updates it, and shows an error if it fails", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const invoice = await invoices.create();
  await invoices.pay(invoice);
  const staff = await openStaff(invoices);
  await staff.open(`/console/invoices/${invoice.id}/`);
  invoices.relay.intercept = () => new Response("", { status: 503 });
  const failed = await staff.submit(/check-status/);
  assert.equal(failed.status, 400);
  assert.match(failed.html, /role="alert" class="error"/);
  assert.equal((await invoices.find(invoice.id)).status, "sent");
  invoices.relay.intercept = (_request, pass) => pass();
  await staff.open(`/console/invoices/${invoice.id}/`);
  const { html } = await staff.submit(/check-status/);
  assert.match(html, /was checked at the gateway/);
  assert.match(html, /class="status good">Paid/);
});

Deno.test("console invoice: an invoice that the gateway has not confirmed says so, and what happens next", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const staff = await openStaff(invoices);
  await fillAndReview(staff, { customer_name: "Unconfirmed" });
  await invoices.sandbox.fault("invoice_create", "answer_lost");
  const unknown = await staff.submit(/new/, { step: "create" });
  assert.equal(unknown.status, 400);
  assert.match(unknown.html, /did not confirm whether it created the invoice/);
  const [, id] = unknown.html.match(/href="\/console\/invoices\/([^"]+)\/">Open the invoice/)!;
  const again = await staff.submit(/new/, { step: "create" });
  assert.match(again.html, /The invoice was created/, "the same form completes the same creation");
  assert.ok(again.path.includes(id!));
  assert.equal(new Set(sentInvoices(invoices).map(({ key }) => key)).size, 1);

  await fillAndReview(staff, { customer_name: "Unconfirmed" });
  await invoices.sandbox.fault("invoice_create", "answer_lost");
  const lost = await staff.submit(/new/, { step: "create" });
  const [, pending] = lost.html.match(/href="(\/console\/invoices\/[^"]+)">Open the invoice/)!;
  const { html } = await staff.open(pending!);
  assert.match(html, /class="notice">The gateway has not confirmed this invoice/);
  assert.match((await staff.submit(/check-status/)).html, /could not be checked/);
});

/** Opens the form for an invoice, and fills it in up to the page that shows it. */
async function fillAndReview(staff: Browsing, fields: Record<string, string> = {}) {
  await staff.open("/console/invoices/new/");
  return await staff.submit(/new/, {
    customer_name: "Budi",
    "items.0.description": "Coffee",
    "items.0.price": "75.000",
    "items.0.quantity": "2",
    step: "review",
    ...fields,
  });
}

Deno.test("console invoice form: creates the invoice that its second page has shown", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const staff = await openStaff(invoices);
  const number = `N-${randomUUID().slice(0, 8)}`;
  const review = await fillAndReview(staff, {
    customer_email: "budi@example.com",
    customer_phone: "628123456789",
    due_date: "2099-12-31",
    invoice_number: number,
    notes: "Thank you\r\nfor your order",
    "items.1.description": "Delivery",
    "items.1.price": "10000",
    "items.1.quantity": "1",
  });
  assert.equal(review.status, 200, review.html);
  for (const text of ["Check the invoice", "Rp 150.000", "Rp 10.000", "invoice of Rp 160.000"]) {
    assert.ok(review.html.includes(text), text);
  }
  assert.deepEqual(sentInvoices(invoices), [], "nothing is created yet");
  const { html, path } = await staff.submit(/new/, { step: "create" });
  assert.match(html, /The invoice was created/);
  assert.match(html, /class="status wait">Open/);
  const [, id] = path.match(/\/console\/invoices\/([^/]+)\//)!;
  const { customer_name, notes, due_date, invoice_number, items, total_amount } = await invoices
    .find(id!);
  assert.deepEqual([customer_name, due_date, invoice_number, total_amount], [
    "Budi",
    "2099-12-31",
    number,
    "160000.00",
  ]);
  assert.equal(notes, "Thank you\nfor your order");
  assert.deepEqual(
    items.map(({ description, price, quantity }) => [description, price, quantity]),
    [
      ["Coffee", "75000.00", 2],
      ["Delivery", "10000.00", 1],
    ],
  );
  const audit = await (await invoices.get("/audit/?outcome=changed", invoices.staff)).json();
  const own = audit.filter(({ resource_id }: { resource_id: string }) => resource_id === id);
  assert.equal(own.length, 1, "only the creation is in the audit log");
});

Deno.test("console invoice form: shows errors at their fields and keeps what was entered", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const staff = await openStaff(invoices);
  const { status, html } = await fillAndReview(staff, {
    customer_name: "",
    customer_email: "no-address",
    customer_phone: "0812",
    due_date: "2026-02-30",
    notes: "Keep <this>",
    "items.1.description": "Without a price",
    "items.1.quantity": "1",
    "items.2.description": "",
    "items.2.price": "1,5",
    "items.2.quantity": "1",
  });
  assert.equal(status, 400);
  assert.match(html, /Nothing was created. Correct the marked fields/);
  const errors = [...html.matchAll(/<p id="([\w.]+)-error" class="field-error">([^<]+)/g)]
    .map(([, field]) => field);
  assert.deepEqual(errors, [
    "customer_name",
    "customer_email",
    "customer_phone",
    "due_date",
    "items.1.price",
    "items.2.description",
    "items.2.price",
  ]);
  assert.match(html, /id="customer_name"[^>]*aria-invalid="true"[^>]*customer_name-error/);
  const { fields } = formsOf(html).find(({ action }) => action.endsWith("/new/"))!;
  assert.equal(fields.customer_email, "no-address");
  assert.equal(fields.notes, "Keep <this>");
  assert.equal(fields["items.0.price"], "75.000");
  assert.equal(fields["items.2.price"], "1,5");

  const none = await fillAndReview(staff, { "items.0.description": "", "items.0.price": "" });
  assert.equal(none.status, 400);
  assert.match(none.html, /class="field-error">must/);
  const past = await fillAndReview(staff, { due_date: "2020-01-01" });
  assert.equal(past.status, 200, "only the creation compares the due date with today");
  assert.match((await staff.submit(/new/, { step: "create" })).html, /id="due_date-error"/);
  assert.deepEqual(sentInvoices(invoices), []);
});

Deno.test("console invoice form: adds lines, and returns from the second page with all values", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const staff = await openStaff(invoices);
  const lines = () => staff.page.html.match(/name="items\.\d+\.price"/g)!.length;
  await staff.open("/console/invoices/new/");
  assert.equal(lines(), 1);
  await staff.submit(/new/, { step: "more", customer_name: "Siti", "items.0.price": "5000" });
  assert.equal(lines(), 2);
  assert.equal(staff.page.status, 200);
  assert.match(staff.page.html, /<output id="total" class="amount">Rp 5\.000</);
  for (let count = 0; count < 30; count++) await staff.submit(/new/, { step: "more" });
  assert.equal(lines(), 30);
  assert.match(staff.page.html, /at most 30 lines/);
  await staff.submit(/new/, {
    step: "review",
    "items.29.description": "Last",
    "items.29.price": "1",
  });
  assert.equal(staff.page.status, 400);
  await staff.submit(/new/, { step: "review", "items.0.description": "Tea" });
  assert.match(staff.page.html, /invoice of Rp 5\.001/);
  await staff.submit(/new/, { step: "edit" });
  const { fields } = formsOf(staff.page.html).find(({ action }) => action.endsWith("/new/"))!;
  assert.deepEqual(
    [fields.customer_name, fields["items.0.description"], fields["items.29.description"]],
    ["Siti", "Tea", "Last"],
  );
});

Deno.test("console invoice form: takes phone numbers in local writing, and discounts", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const staff = await openStaff(invoices);
  await fillAndReview(staff, { customer_phone: "0812-3456 789", step: "discount" });
  const form = formsOf(staff.page.html).find(({ action }) => action.endsWith("/new/"))!;
  assert.deepEqual(
    ["description", "price", "quantity"].map((name) => form.fields[`items.1.${name}`]),
    ["Discount", "-", "1"],
  );
  assert.match((await staff.submit(/new/, { step: "review" })).html, /id="items\.1\.price-error"/);
  assert.match(staff.page.html, /Line 2: discount, is subtracted/);
  // A line that was added as a discount subtracts, with and without a minus.
  for (const price of ["-Rp 10.000", "10.000"]) {
    await staff.submit(/new/, { "items.1.price": price, step: "review" });
    assert.match(staff.page.html, /−Rp 10\.000/, price);
    assert.match(staff.page.html, /invoice of Rp 140\.000/, price);
    await staff.submit(/new/, { step: "edit" });
    assert.match(staff.page.html, /<output id="total" class="amount">Rp 140\.000</, price);
  }
  await staff.submit(/new/, { step: "review" });
  const { path } = await staff.submit(/new/, { step: "create" });
  const { customer_phone, total_amount, items } = await invoices.find(
    path.match(/invoices\/([^/]+)\//)![1]!,
  );
  assert.deepEqual([customer_phone, total_amount], ["628123456789", "140000.00"]);
  assert.deepEqual(items.map(({ price }) => price), ["75000.00", "-10000.00"]);
  const sent = sentInvoices(invoices)[0]!.body;
  assert.deepEqual([sent.amount, sent.item_details.length], [{ discount: 10_000 }, 1]);
  const { status, html: paidPage } = await staff.open(`${path.replace(/\?.*/, "")}`);
  assert.equal(status, 200);
  assert.match(paidPage, /−Rp 10\.000/);

  const phones = ["+62 812 3456 789", "(0812) 3456.789", "628123456789", "8123456789"];
  phones.push("+62 (0)812 3456 789", "+62 0812 3456 789", "0062 812 3456 789");
  for (const phone of phones) {
    const { html } = await fillAndReview(staff, { customer_phone: phone });
    assert.match(html, /<dd>628123456789<\/dd>/, phone);
  }
  // With a country code, a number that begins with 8 is not Indonesian.
  const { html: japanese } = await fillAndReview(staff, { customer_phone: "+81 90 1234 5678" });
  assert.match(japanese, /<dd>819012345678<\/dd>/);
  for (const phone of ["12", "0812", "+62 812", "by email"]) {
    const { html } = await fillAndReview(staff, { customer_phone: phone });
    assert.match(html, /id="customer_phone-error"[^>]*>must be a phone number/, phone);
  }
  const { html } = await fillAndReview(staff, { "items.0.price": "Rp -75.000" });
  assert.match(html, /class="field-error">must add up to more than 0/);
});

/** Names of fields, headers and JSON of the API. */
const API_WORDS = /\b\w+_\w+\b|Idempotency-Key|\bomit\b|\bsend\b|elements|array|null|string/i;

Deno.test("console invoice form: its errors have no words of the API, in both languages", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const staff = await openStaff(invoices);
  const { order_id, invoice_number } = await invoices.create({ invoice_number: randomUUID() });
  const invalid: Record<string, string>[] = [
    { customer_name: "", customer_email: "x", customer_phone: "12", due_date: "" },
    { due_date: "2026-02-30", customer_phone: "telepon", invoice_number: "x".repeat(41) },
    { "items.0.price": "1,5", "items.0.quantity": "0", order_id: "a b" },
    { "items.0.price": "", "items.0.description": "" },
    { "items.0.price": "9".repeat(12), "items.0.quantity": "two", notes: "x".repeat(1001) },
    { order_id, step: "create" },
    { invoice_number, step: "create" },
  ];
  for (const language of ["en", "id"]) {
    await staff.post("/console/preferences/", { language, path: "/" });
    for (const { step, ...fields } of invalid) {
      let { html, status } = await fillAndReview(staff, { due_date: "2099-12-31", ...fields });
      if (step) ({ html, status } = await staff.submit(/new/, { step }));
      assert.equal(status, 400, JSON.stringify(fields));
      const errors = [...html.matchAll(/class="field-error">([^<]+)</g)].map(([, text]) => text!);
      const alerts = [...html.matchAll(/role="alert"[^>]*>([^<]+)</g)].map(([, text]) => text!);
      assert.ok(errors.length > 0, JSON.stringify(fields));
      for (const text of [...errors, ...alerts]) {
        assert.doesNotMatch(
          text.replaceAll(order_id, "").replaceAll(invoice_number, ""),
          API_WORDS,
        );
      }
    }
  }
});

Deno.test("console invoice form: a double click, a reload and the back button create one invoice", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const staff = await openStaff(invoices);
  const name = `Once ${randomUUID().slice(0, 8)}`;
  await fillAndReview(staff, { customer_name: name });
  const form = formsOf(staff.page.html).find(({ action }) => action.endsWith("/new/"))!;
  const fields = { ...form.fields, step: "create" };
  const held = invoices.relay.holdNext(CREATE);
  const first = openTab(invoices.app, staff).post(form.action, fields);
  await held.arrived;
  const second = openTab(invoices.app, staff).post(form.action, fields);
  held.release();
  for (const { html, status } of await Promise.all([first, second])) {
    assert.equal(status, 200);
    assert.match(html, /The invoice was created/);
  }
  const reloaded = await staff.post(form.action, fields);
  assert.match(reloaded.html, /The invoice was created/);
  const changed = await staff.post(form.action, {
    ...fields,
    "items.0.price": "80000",
    amount: "160000",
  });
  assert.equal(changed.status, 400);
  assert.match(changed.html, /already used for another invoice/);
  assert.equal(sentInvoices(invoices).length, 1);
});

Deno.test("console invoice form: creates nothing if the total is not the one that was shown", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const staff = await openStaff(invoices);
  await fillAndReview(staff);
  for (const amount of ["1", "", "150000.00", "-150000"]) {
    const { status, html } = await staff.submit(/new/, { step: "create", amount });
    assert.equal(status, 400);
    assert.match(html, /not the one that was shown/);
  }
  const { fields } = formsOf(staff.page.html).find(({ action }) => action.endsWith("/new/"))!;
  const { key: _, ...withoutKey } = fields;
  const sent = await staff.post("/console/invoices/new/", { ...withoutKey, step: "create" });
  assert.equal(sent.status, 400);
  assert.deepEqual(sentInvoices(invoices), []);
});

Deno.test("console invoice form: after a refusal the corrected form creates the invoice", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const staff = await openStaff(invoices);
  const known = await invoices.create({ order_id: `o-${randomUUID().slice(9)}` });
  await fillAndReview(staff, { order_id: known.order_id });
  const { status, html } = await staff.submit(/new/, { step: "create" });
  assert.equal(status, 400);
  assert.match(html, /id="order_id-error"[^>]*>Order id [^<]+ is already in use/);
  await staff.submit(/new/, { step: "review", order_id: "" });
  assert.match((await staff.submit(/new/, { step: "create" })).html, /The invoice was created/);

  await fillAndReview(staff, { invoice_number: known.invoice_number });
  await staff.submit(/new/, { step: "create" });
  assert.match(staff.page.html, /id="invoice_number-error"[^>]*>is already used/);
  await staff.submit(/new/, { step: "review", invoice_number: "" });
  assert.match((await staff.submit(/new/, { step: "create" })).html, /The invoice was created/);
});

Deno.test("console void: says what happens, stores the reason, and acts once", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const invoice = await invoices.create();
  const staff = await openStaff(invoices);
  await staff.open(`/console/invoices/${invoice.id}/void/`);
  assert.match(staff.page.html, /Budi Utomo can no longer pay Rp 160\.000/);
  const form = formsOf(staff.page.html).find(({ action }) => action.endsWith("/void/"))!;
  const fields = { ...form.fields, reason: "Ordered twice" };
  const call = `PATCH /v1/invoices/${invoice.gateway_invoice_id}/void`;
  const held = invoices.relay.holdNext(call);
  const first = openTab(invoices.app, staff).post(form.action, fields);
  await held.arrived;
  const second = openTab(invoices.app, staff).post(form.action, fields);
  held.release();
  for (const { html } of await Promise.all([first, second])) {
    assert.match(html, /The invoice is void/);
  }
  assert.match((await staff.post(form.action, fields)).html, /The invoice is void/);
  assert.equal(invoices.relay.times(call), 1);
  assert.equal((await invoices.find(invoice.id)).void_reason, "Ordered twice");
  assert.match((await staff.open(`/console/invoices/${invoice.id}/`)).html, /Ordered twice/);
  const audit = await (await invoices.get("/audit/?outcome=changed", invoices.staff)).json();
  const own = audit.filter((each: Record<string, string>) => each.resource_id === invoice.id);
  assert.deepEqual(
    own.map(({ action }: { action: string }) => action),
    ["POST /console/invoices/{id}/void/", "POST /invoices/"],
    "the repeated requests are not recorded as changes",
  );
});

Deno.test("console void: a stale tab does nothing", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const invoice = await invoices.create();
  const staff = await openStaff(invoices);
  await staff.open(`/console/invoices/${invoice.id}/void/`);
  await payAndCheck(invoices, invoice);
  const { status, html } = await staff.submit(/void/);
  assert.equal(status, 400);
  assert.match(html, /has changed since the page was opened. Nothing was done/);
  assert.match(html, /class="status good">Paid/);
  const again = await staff.submit(/void/);
  assert.equal(again.status, 400);
  assert.match(again.html, /Refund its payment instead/);
  assert.equal((await invoices.find(invoice.id)).status, "paid");
  assert.equal((await staff.open(`/console/invoices/${invoice.id}/void/`)).status, 400);
});

Deno.test("console void: an unknown outcome is shown, and the form can be sent again", async () => {
  await using invoices = await openInvoices({ databaseUrl });
  const invoice = await invoices.create();
  const staff = await openStaff(invoices);
  await staff.open(`/console/invoices/${invoice.id}/void/`);
  await invoices.sandbox.fault("invoice_void", "answer_lost");
  const { status, html } = await staff.submit(/void/);
  assert.equal(status, 400);
  assert.match(html, /did not confirm whether the invoice is void/);
  assert.match((await staff.submit(/void/)).html, /The invoice is void/);
});
