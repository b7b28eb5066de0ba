import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { cancelCheckout } from "../../core/checkouts/cancel.ts";
import { voidInvoice } from "../../core/invoices/void.ts";
import { cancelPayment } from "../../core/payments/actions.ts";
import { cancelSubscription } from "../../core/subscriptions/actions.ts";
import { type Checkout, PUBLIC_URL, withCheckouts } from "../support/checkouts/checkouts.ts";
import { formsOf, signInTo, XSS_PROBE } from "../support/console/browsing.ts";
import { createDatabase } from "../support/database/database.ts";
import { openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import {
  type Invoice,
  invoiceRequest,
  parseInvoice,
  parseSubscription,
  type Subscription,
  subscriptionRequest,
} from "../support/records/requests.ts";
import type { Payment } from "../support/payments/payments.ts";

const databaseUrl = await createDatabase();

interface Records {
  payment: Payment;
  checkout: Checkout;
  invoice: Invoice;
  subscription: Subscription;
}

async function createRecords(payments: RelayedPayments, more: object = {}): Promise<Records> {
  const { post, sandbox } = payments;
  const sent = await post("/invoices/", invoiceRequest(more));
  const created = await post("/subscriptions/", await subscriptionRequest(sandbox));
  return {
    payment: await payments.charge("bca"),
    checkout: await withCheckouts(payments).create(),
    invoice: await parseInvoice(sent, 201),
    subscription: await parseSubscription(created, 201),
  };
}

/** The forms of payments, checkouts, invoices and subscriptions. */
function pathsOf({ payment, checkout, invoice, subscription }: Records): string[] {
  return [
    `/console/payments/${payment.id}/gateway/`,
    "/console/checkouts/new/",
    `/console/checkouts/${checkout.id}/cancel/`,
    "/console/invoices/new/",
    `/console/invoices/${invoice.id}/void/`,
    `/console/invoices/${invoice.id}/check-status/`,
    ...["disable", "enable", "cancel", "check-status"].map((action) =>
      `/console/subscriptions/${subscription.id}/${action}/`
    ),
  ];
}

/** The fields of these forms, as their pages would have them. */
function fieldsOf(
  path: string,
  token: string,
  { invoice, subscription }: Records,
): Record<string, string> {
  const { status, amount, interval, interval_unit } = subscription;
  return {
    token,
    key: randomUUID(),
    shown: path.includes("/subscriptions/")
      ? `${status} ${amount} ${interval} ${interval_unit}`
      : path.includes("/checkouts/")
      ? "open 0"
      : `${invoice.status} ${invoice.total_amount}`,
    step: "create",
    gross_amount: "1000",
    customer_name: "Forged",
    due_date: "2099-12-31",
    "items.0.description": "Forged",
    "items.0.price": "1000",
    "items.0.quantity": "1",
    amount: "1000",
  };
}

/** Fails if the gateway has got more than `asked` requests, or if a record has changed. */
async function assertUnchanged(
  payments: RelayedPayments,
  { payment, checkout, invoice, subscription }: Records,
  asked: number,
): Promise<void> {
  assert.equal(payments.relay.asked().length, asked, "the gateway was asked nothing");
  assert.deepEqual(await payments.read(payment.id), payment);
  assert.deepEqual(await withCheckouts(payments).readCheckout(checkout.id), checkout);
  assert.deepEqual(
    await parseInvoice(await payments.get(`/invoices/${invoice.id}/`), 200),
    invoice,
  );
  assert.deepEqual(
    await parseSubscription(await payments.get(`/subscriptions/${subscription.id}/`), 200),
    subscription,
  );
}

Deno.test("console forms: a viewer changes no payment, checkout, invoice or subscription, also by forged requests", async () => {
  await using payments = await openRelayed({ databaseUrl, env: { PUBLIC_URL } });
  const records = await createRecords(payments);
  const { app } = payments;
  const viewer = await signInTo(app, await app.createKey({ isViewer: true }));
  const asked = payments.relay.asked().length;
  for (const [name, { id }] of Object.entries(records)) {
    const { status, html } = await viewer.open(`/console/${name}s/${id}/`);
    assert.equal(status, 200);
    assert.match(html, /Viewers cannot change anything/);
    const actions = formsOf(html).map(({ action }) => action);
    assert.deepEqual(actions, ["/console/sign-out/", "/console/preferences/"], name);
  }
  for (const name of ["checkouts", "invoices"]) {
    const { html } = await viewer.open(`/console/${name}/`);
    assert.doesNotMatch(html, /\/new\//, name);
  }
  const { html } = viewer.page;
  const { token } = formsOf(html)[0]!.fields;
  for (const path of pathsOf(records)) {
    const sent = await viewer.post(path, fieldsOf(path, token!, records));
    assert.equal(sent.status, 403, path);
  }
  for (const path of pathsOf(records).filter((path) => /new|void|checkouts/.test(path))) {
    assert.equal((await viewer.open(path)).status, 403, path);
  }
  await assertUnchanged(payments, records, asked);
});

Deno.test("console forms: are refused from another origin, without an origin, and without their token", async () => {
  await using payments = await openRelayed({ databaseUrl, env: { PUBLIC_URL } });
  const records = await createRecords(payments);
  const { app } = payments;
  const staff = await signInTo(app, await app.createKey({ isStaff: true }));
  const other = await signInTo(app, await app.createKey({ isStaff: true }));
  const { token } = formsOf(staff.page.html)[0]!.fields;
  const foreign = formsOf(other.page.html)[0]!.fields.token!;
  const asked = payments.relay.asked().length;
  for (const path of pathsOf(records)) {
    const fields = fieldsOf(path, token!, records);
    for (const Origin of ["https://evil.example", "null", ""]) {
      const sent = await staff.post(path, fields, { Origin });
      assert.equal(sent.status, 403, `${path} from ${Origin}`);
    }
    for (const wrong of ["", "x", token!.slice(1), foreign]) {
      assert.equal((await staff.post(path, { ...fields, token: wrong })).status, 403, path);
    }
  }
  await assertUnchanged(payments, records, asked);
});

Deno.test("console forms: a form does nothing without its key, or without the state that it showed", async () => {
  await using payments = await openRelayed({ databaseUrl, env: { PUBLIC_URL } });
  const records = await createRecords(payments);
  const { app } = payments;
  const staff = await signInTo(app, await app.createKey({ isStaff: true }));
  const { token } = formsOf(staff.page.html)[0]!.fields;
  const asked = payments.relay.asked().length;
  const paths = [
    `/console/payments/${records.payment.id}/cancel/`,
    `/console/payments/${records.payment.id}/expire/`,
    ...pathsOf(records).filter((path) => /void|disable|cancel/.test(path)),
  ];
  for (const path of paths) {
    for (const key of ["", "x", "a".repeat(300)]) {
      const sent = await staff.post(path, { token: token!, key, shown: "" });
      assert.equal(sent.status, 400, path);
    }
    const sent = await staff.post(path, { token: token!, key: randomUUID() });
    assert.equal(sent.status, 400, path);
    assert.match(sent.html, /has changed since the page was opened/);
  }
  await assertUnchanged(payments, records, asked);
});

Deno.test("core: a viewer's change is refused, no matter where the call comes from", async () => {
  await using payments = await openRelayed({ databaseUrl, env: { PUBLIC_URL } });
  const records = await createRecords(payments);
  const viewer = {
    userId: "rina",
    isStaff: false,
    isViewer: true,
    credential: "api_key" as const,
    keyPrefix: "gk_12345678",
  };
  const { service } = payments.app;
  const asked = payments.relay.asked().length;
  const refused = { code: "forbidden" };
  const requestFor = ({ id }: { id: string }) => ({ caller: viewer, id, requestKey: null });
  await assert.rejects(cancelPayment(service, requestFor(records.payment)), refused);
  await assert.rejects(cancelCheckout(service, viewer, records.checkout.id), refused);
  await assert.rejects(voidInvoice(service, requestFor(records.invoice), undefined), refused);
  await assert.rejects(cancelSubscription(service, requestFor(records.subscription)), refused);
  await assertUnchanged(payments, records, asked);
});

Deno.test("console: text of customers, callers and the gateway is shown as text on every page", async () => {
  await using payments = await openRelayed({ databaseUrl, env: { PUBLIC_URL } });
  const { app, post, sandbox } = payments;
  const staff = await signInTo(app, await app.createKey({ isStaff: true }));
  const probe = XSS_PROBE.slice(0, 40);
  const invoice = await parseInvoice(
    await post("/invoices/", {
      customer_name: probe,
      customer_id: XSS_PROBE.slice(0, 36),
      customer_email: `"><b>@example.com`,
      due_date: "2099-12-31",
      invoice_number: probe.slice(0, 30) + randomUUID().slice(0, 8),
      notes: XSS_PROBE,
      items: [{ description: XSS_PROBE, price: 1000, quantity: 1 }],
    }),
    201,
  );
  const subscription = await parseSubscription(
    await post(
      "/subscriptions/",
      await subscriptionRequest(sandbox, {
        customer_details: { first_name: XSS_PROBE.slice(0, 50), email: `"><b>@example.com` },
      }),
    ),
    201,
  );
  const checkout = await withCheckouts(payments).create({
    customer_details: { first_name: XSS_PROBE.slice(0, 30) },
    metadata: { note: XSS_PROBE },
    finish_url: `https://shop.example/?${XSS_PROBE}`,
  });
  const payment = await payments.charge("bca", {
    customer_details: { first_name: XSS_PROBE.slice(0, 30), email: "a@example.com" },
    item_details: [{ name: XSS_PROBE.slice(0, 50), price: 44_000, quantity: 1 }],
    metadata: { note: XSS_PROBE },
  });
  const query = encodeURIComponent(XSS_PROBE);
  const paths = [
    "/console/checkouts/",
    `/console/checkouts/?order_id=${query}&status=${query}&from=${query}`,
    `/console/checkouts/${checkout.id}/`,
    `/console/checkouts/${checkout.id}/?done=${query}`,
    `/console/checkouts/${checkout.id}/cancel/`,
    "/console/invoices/",
    `/console/invoices/?customer_email=${query}&status=${query}&from=${query}`,
    `/console/invoices/${invoice.id}/`,
    `/console/invoices/${invoice.id}/?done=${query}`,
    `/console/invoices/${invoice.id}/void/`,
    "/console/subscriptions/",
    `/console/subscriptions/?name=${query}&payment_type=${query}&user_id=${query}`,
    `/console/subscriptions/${subscription.id}/`,
    `/console/subscriptions/${subscription.id}/?done=${query}`,
    `/console/subscriptions/${subscription.id}/cancel/`,
    `/console/payments/${payment.id}/`,
    `/console/payments/${payment.id}/gateway/`,
    `/console/payments/${payment.id}/cancel/`,
  ];
  const pages = [];
  for (const path of paths) pages.push(await staff.open(path));

  // The gateway's own texts: messages in responses and in errors.
  payments.relay.intercept = async (_request, pass) => {
    const response = await pass();
    const answer = JSON.stringify(await response.json());
    const changed = {
      ...JSON.parse(answer),
      status_message: XSS_PROBE,
      error_messages: [XSS_PROBE],
    };
    return Response.json({ ...changed, validation_messages: [XSS_PROBE] }, {
      status: response.status,
    });
  };
  await staff.open(`/console/payments/${payment.id}/gateway/`);
  pages.push(await staff.submit(/gateway/));
  payments.relay.intercept = () =>
    Response.json({ error_messages: [XSS_PROBE], status_message: XSS_PROBE }, { status: 400 });
  await staff.open(`/console/subscriptions/${subscription.id}/cancel/`);
  pages.push(await staff.submit(/cancel/));
  await staff.open(`/console/invoices/${invoice.id}/void/`);
  pages.push(await staff.submit(/void/, { reason: XSS_PROBE }));
  await staff.open("/console/invoices/new/");
  const entered = { customer_name: XSS_PROBE, notes: XSS_PROBE, "items.0.description": XSS_PROBE };
  pages.push(await staff.submit(/new/, { ...entered, step: "review" }));
  await staff.open("/console/invoices/new/");
  const valid = { ...entered, customer_name: probe, "items.0.price": "1000" };
  pages.push(await staff.submit(/new/, { ...valid, step: "review" }));
  pages.push(await staff.submit(/new/, { step: "create" }));
  await staff.open("/console/checkouts/new/");
  const name = { "customer_details.first_name": XSS_PROBE };
  pages.push(await staff.submit(/new/, { ...name, order_id: XSS_PROBE, step: "review" }));
  pages.push(await staff.submit(/new/, { gross_amount: "1000", order_id: "", step: "review" }));
  pages.push(await staff.submit(/new/, { step: "create" }));

  for (const { html, path } of pages) {
    assert.match(html, /<\/html>/, path);
    assert.doesNotMatch(html, /<script>|<img|<b>/, path);
    assert.doesNotMatch(html, /<script(?! src="\/console\/\w+\.js")|<script[^>]*>[^<]/, path);
    assert.doesNotMatch(html, /style=|javascript:| on\w+="/, path);
  }
});
