import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { REAL_INSTALLATION } from "../support/app.ts";
import { formsOf, openStaff, signInTo } from "../support/console/browsing.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openRelayed } from "../support/gateway/relay.ts";
import { openPayments } from "../support/payments/payments.ts";

const databaseUrl = await createDatabase();

const ALLOW_PRIVATE = { env: { ...REAL_INSTALLATION, WEBHOOK_ALLOW_PRIVATE: "true" } };

/** A receiver of webhooks that accepts all of them. */
function openReceiver() {
  const received: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    received.push(await request.text());
    return new Response();
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/hook`,
    received,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("console payment: the timeline shows who caused each change", async () => {
  await using payments = await openPayments({ databaseUrl });
  const payment = await payments.charge("bca");
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${payment.id}/cancel/`);
  await staff.submit(/cancel/);
  const { html } = await staff.open(`/console/payments/${payment.id}/`);
  assert.match(html, /Pending → Cancelled \([^)]*by api_key:gk_/);
  assert.match(html, /payment_received/);
});

Deno.test("console refunds: lists refunds by status, with a link to the payment", async () => {
  await using payments = await openPayments({ databaseUrl });
  const payment = await payments.paid("gopay");
  await payments.post(`/payments/${payment.id}/refund/`, { amount: 10_000, reason: "Late" });
  const staff = await openStaff(payments);
  const { html } = await staff.open("/console/refunds/?status=succeeded");
  assert.ok(html.includes(`/console/payments/${payment.id}/`));
  assert.match(html, /Rp 10\.000/);
  assert.match(html, />Today<\/a>.*>Yesterday<\/a>.*>This week<\/a>.*>Last month<\/a>/s);
  const past = await staff.open("/console/refunds/?status=succeeded&from=2020-01-01&to=2020-01-31");
  assert.match(past.html, /Nothing was found/);
  assert.match(past.html, /export\/\?status=succeeded&amp;from=2020-01-01&amp;to=2020-01-31/);
  const denied = await staff.open("/console/refunds/?status=denied");
  assert.ok(!denied.html.includes(payment.id));
});

Deno.test("console notifications: shows the result of each, and processes one again", async () => {
  await using payments = await openRelayed({ databaseUrl: await createDatabase() });
  const payment = await payments.charge("bca");
  await payments.sandbox.control(`transactions/${payment.transaction_id}/pay`);
  const staff = await openStaff(payments);
  await runSql(
    payments.databaseUrl,
    `insert into gateway.notifications (id, order_id, transaction_id, transaction_status, status_code,
      gross_amount, status, raw_payload, created_at, payment_id)
    values ('${randomUUID()}', '${payment.order_id}', '${payment.transaction_id}', 'settlement', '200',
      '44000.00', 'failed', '{}', now(), '${payment.id}')`,
  );
  await staff.open("/console/notifications/?status=failed");
  assert.ok(staff.page.html.includes(payment.order_id));
  const { html } = await staff.submit(/replay/);
  assert.match(html, /was processed again/);
  assert.equal((await payments.read(payment.id)).is_paid, true);
});

Deno.test("console jobs: lists jobs by status, and retries a failed one", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase() });
  const { id } = await payments.charge("bca");
  await runSql(
    payments.databaseUrl,
    `insert into gateway.jobs (id, task, subject_id, payload, status, attempts, error, run_at, created_at, updated_at)
    values ('${randomUUID()}', 'check_payment_status', '${id}', '{"id":"${id}"}', 'failed', 6,
      'gateway_timeout: no response', now(), now(), now())`,
  );
  const staff = await openStaff(payments);
  await staff.open("/console/jobs/?status=failed");
  assert.match(staff.page.html, /gateway_timeout/);
  assert.match((await staff.submit(/retry/)).html, /The job runs again/);
  assert.doesNotMatch((await staff.open("/console/jobs/?status=failed")).html, /gateway_timeout/);
  assert.equal(payments.app.enqueued.length, 1);
});

Deno.test("console webhooks: shows deliveries, sends a test, sends again, and shows a new secret once", async () => {
  await using receiver = openReceiver();
  await using payments = await openPayments({
    databaseUrl: await createDatabase(),
    ...ALLOW_PRIVATE,
  });
  const key = await payments.app.createKey({ isStaff: true });
  const created = await payments.post("/webhook-endpoints/", { url: receiver.url }, {}, key);
  const { id } = await created.json();
  await payments.charge("bca");
  await payments.app.publishEvents();
  const staff = await openStaff(payments);
  await staff.open("/console/webhooks/");
  assert.ok(staff.page.html.includes(receiver.url));
  await staff.open(`/console/webhooks/${id}/`);
  assert.match(staff.page.html, /payment_received/);
  assert.match((await staff.submit(/\/test\//)).html, /accepted the test/);
  assert.equal(receiver.received.length, 1);
  assert.match((await staff.submit(/\/resend\//)).html, /is sent again/);
  await staff.open(`/console/webhooks/${id}/rotate-secret/`);
  const { html } = await staff.submit(/rotate-secret/);
  const [secret] = html.match(/whsec_[\w+/=]+/)!;
  assert.ok(!(await staff.open(`/console/webhooks/${id}/`)).html.includes(secret));
});

Deno.test("console keys: creates a key that is shown once, and revokes it", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const staff = await openStaff(payments);
  await staff.open("/console/keys/");
  const { html } = await staff.submit(/keys/, { user_id: "shop-<1>", role: "viewer", name: "" });
  const [key] = html.match(/gk_[\w-]{43}/)!;
  assert.equal((await app.as(key, "/payments/")).status, 200);
  await staff.open("/console/keys/");
  assert.match(staff.page.html, /shop-&lt;1&gt;/);
  assert.ok(!staff.page.html.includes(key));
  await staff.open(`/console/keys/${key.slice(0, 11)}/revoke/`);
  await staff.submit(/revoke/);
  const rows = await runSql(
    databaseUrl,
    `select revoked_at from gateway.api_keys
    where prefix = '${key.slice(0, 11)}'`,
  );
  assert.notEqual(rows[0]!.revoked_at, null);
  await staff.open("/console/keys/");
  assert.equal((await staff.submit(/keys/, { user_id: "", role: "staff" })).status, 400);
});

Deno.test("console operations: a viewer's forged forms change nothing", async () => {
  await using payments = await openPayments({ databaseUrl });
  const { app } = payments;
  const prefix = (await app.createKey({ userId: "victim" })).slice(0, 11);
  const viewer = await signInTo(app, await app.createKey({ isViewer: true }));
  const { token } = formsOf(viewer.page.html)[0]!.fields;
  for (const page of ["refunds", "notifications", "webhooks", "jobs", "keys", "sessions"]) {
    const { status, html } = await viewer.open(`/console/${page}/`);
    assert.equal(status, 200, page);
    const actions = formsOf(html).map(({ action }) => action);
    assert.deepEqual(
      actions.filter((each) => !/sign-out|preferences|\/\w+\/$/.test(each)),
      [],
      page,
    );
  }
  const forged = [
    `/console/notifications/${randomUUID()}/replay/`,
    `/console/jobs/${randomUUID()}/retry/`,
    `/console/webhooks/${randomUUID()}/test/`,
    `/console/webhooks/${randomUUID()}/rotate-secret/`,
    `/console/webhooks/${randomUUID()}/${randomUUID()}/resend/`,
    `/console/keys/${prefix}/revoke/`,
    "/console/keys/",
    `/console/sessions/${randomUUID()}/end/`,
  ];
  for (const path of forged) {
    const sent = await viewer.post(path, { token: token!, user_id: "x", role: "user" });
    assert.equal(sent.status, 403, path);
  }
});
