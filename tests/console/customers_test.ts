import assert from "node:assert/strict";
import { openStaff, orderIdsIn, signInTo } from "../support/console/browsing.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openPayments } from "../support/payments/payments.ts";
import { openInvoices } from "../support/records/invoices.ts";
import { subscriptionRequest } from "../support/records/requests.ts";

const EMAIL = "Siti.Utami@shop.example";

const INSERT_OTHERS = `
  insert into gateway.invoices (id, user_id, invoice_number, order_id, status, customer_name,
    customer_email, customer_phone, total_amount, currency, due_date, due_at, sent_at, created_at,
    updated_at)
  select uuidv7(), 'alice', 'INV-' || n, 'invoice-' || n, 'sent', 'Siti', email, phone, 90000, 'IDR',
    '2026-12-31', now(), now(), now(), now()
  from (values (1, 'siti.utami@SHOP.example', null), (2, 'other@shop.example', '0812 555 6677'))
    invoice(n, email, phone);
  insert into gateway.subscriptions (id, user_id, name, payment_type, amount, currency, interval,
    interval_unit, status, customer_email, customer_phone, sent_at, created_at, updated_at)
  select uuidv7(), 'alice', 'Plan ' || n, 'credit_card', 50000, 'IDR', 1, 'month', 'active', email,
    phone, now(), now(), now()
  from (values (1, 'siti.utami@shop.example', null), (2, 'other@shop.example', '+628125556677'))
    subscription(n, email, phone)`;

Deno.test("console customer: the totals name chargebacks, and leave out cards that were cancelled", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  const customer_details = { first_name: "Siti", email: EMAIL };
  const disputed = await payments.paid("card", { customer_details });
  await payments.sandbox.control(`transactions/${disputed.transaction_id}/chargeback`);
  await payments.refresh(disputed.id);
  const cancelled = await payments.charge("card", { customer_details });
  assert.equal((await payments.post(`/payments/${cancelled.id}/cancel/`, {})).status, 200);
  await payments.paid("gopay", { customer_details });
  const staff = await openStaff(payments);
  const { html } = await staff.open(`/console/customers/?email=${EMAIL}`);
  assert.match(
    html,
    /3, 2 of them paid.*Paid<.*Rp 88\.000.*Charged back<.*Rp 44\.000.*Net<.*Rp 44\.000/s,
  );
});

Deno.test("console customer: shows payments, sums, refunds, invoices and subscriptions by email or phone, in both languages, and payments link to it", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  const customer_details = { first_name: "Siti", email: EMAIL, phone: "0812-555-6677" };
  const paid = await payments.paid("gopay", { customer_details });
  const refund = { amount: 4_000, reason: "broken cup" };
  assert.equal((await payments.post(`/payments/${paid.id}/refund/`, refund)).status, 200);
  await payments.sandbox.fault("refund", "bank_refuses");
  await payments.post(`/payments/${paid.id}/refund/`, { amount: 1_000 });
  const { refunds: [, refused] } = await payments.read(paid.id);
  const pending = await payments.charge("bca", { customer_details });
  const other = await payments.charge("qris", { customer_details: { first_name: "Budi" } });
  await runSql(payments.databaseUrl, INSERT_OTHERS);
  const staff = await openStaff(payments);

  const { html } = await staff.open(`/console/payments/${paid.id}/`);
  const links = [...html.matchAll(/href="([^"]*\/customers\/\?[^"]+)"/g)].map(([, link]) => link!);
  assert.deepEqual(links, [
    "/console/customers/?email=Siti.Utami%40shop.example",
    "/console/customers/?phone=0812-555-6677",
  ]);
  const [byEmail, byPhone] = await Promise.all(links.map(async (link) => {
    const { html, status } = await staff.open(link);
    assert.equal(status, 200);
    for (const each of [paid, pending]) assert.ok(orderIdsIn(html).includes(each.order_id));
    assert.ok(!orderIdsIn(html).includes(other.order_id));
    assert.match(html, /2, 1 of them paid.*Paid<.*Rp 44\.000.*Refunded<.*Rp 4\.000.*Rp 40\.000/s);
    assert.match(html, /<td>broken cup<\/td><td>alice<\/td>/, "who requested the refund");
    assert.ok(
      html.includes(`Declined by the bank<span class="faint">${refused!.status_message}</span>`),
    );
    return html;
  }));
  const recordsIn = (html: string) => html.match(/INV-\d|Plan \d/g);
  assert.deepEqual(recordsIn(byEmail!), ["INV-1", "Plan 1"]);
  assert.deepEqual(recordsIn(byPhone!), ["INV-2", "Plan 2"]);

  const unknown = await staff.open("/console/customers/?email=without.payments@shop.example");
  assert.match(unknown.html, /There are no refunds.*There are no invoices.*no subscriptions/s);
  assert.equal((await staff.open("/console/customers/")).status, 200);
  const wrong = await staff.open("/console/customers/?phone=12");
  assert.equal(wrong.status, 400);
  assert.match(wrong.html, /role="alert"/);
  await staff.post("/console/preferences/", { language: "id", path: "/" });
  const translated = await staff.open(links[0]!);
  assert.match(translated.html, /2, 1 di antaranya lunas.*Dibayar<.*Rp 44\.000/s);
});

Deno.test("console customer: adds up the payments of their invoices and subscriptions, which do not name them", async () => {
  await using invoices = await openInvoices({ databaseUrl: await createDatabase() });
  invoices.connect();
  const invoice = await invoices.create({ customer_email: EMAIL });
  await invoices.pay(invoice);
  await invoices.runJobs();
  const [paid] = await invoices.paymentsOf(invoice);
  assert.equal(paid!.customer_email, null);
  await invoices.paid("gopay", { customer_details: { first_name: "Siti", email: EMAIL } });
  const subscribed = await invoices.paid("card");
  const subscription = await invoices.post("/subscriptions/", {
    ...await subscriptionRequest(invoices.sandbox),
    customer_details: { first_name: "Siti", email: EMAIL },
  });
  assert.equal(subscription.status, 201, await subscription.clone().text());
  await runSql(
    invoices.databaseUrl,
    `update gateway.payments set subscription_id = '${(await subscription.json()).id}'
    where id = '${subscribed.id}'`,
  );
  const staff = await openStaff(invoices);
  const { html } = await staff.open(`/console/customers/?email=${EMAIL}`);
  assert.match(html, /3, 3 of them paid.*Paid<.*Rp 248\.000/s);
  assert.ok(orderIdsIn(html).includes(paid!.order_id));
});

Deno.test("console customer: is shown to viewers, and not without a session", async () => {
  await using payments = await openPayments();
  const viewer = await signInTo(
    payments.app,
    await payments.app.createKey({ userId: "dave", isViewer: true }),
  );
  assert.equal((await viewer.open("/console/customers/?email=a@shop.example")).status, 200);
  const response = await payments.app.request("/console/customers/?email=a@shop.example");
  await response.body?.cancel();
  assert.equal(response.status, 303);
});
