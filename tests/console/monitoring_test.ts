import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { firstIdAt, newId } from "../../core/ids.ts";
import { nextRun } from "../../core/jobs/cron_times.ts";
import { SCHEDULE } from "../../core/tasks/schedule.ts";
import { REAL_INSTALLATION } from "../support/app.ts";
import { formsOf, openStaff, signInTo } from "../support/console/browsing.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";

async function openNew(options = {}): Promise<TestPayments> {
  return await openPayments({ databaseUrl: await createDatabase(), ...options });
}

async function insertNotification(
  { databaseUrl }: TestPayments,
  row: { order_id: string; status: string; payment_id?: string; raw_payload?: object },
): Promise<string> {
  // The id contains the time by which lists are filtered.
  const id = newId(new Date());
  await runSql(
    databaseUrl,
    `insert into gateway.notifications (id, order_id, transaction_id, transaction_status, status_code,
      gross_amount, status, error_message, raw_payload, created_at, payment_id)
    values ('${id}', '${row.order_id}', '${randomUUID()}', 'settlement', '200', '44000.00',
      '${row.status}', 'The gateway did not respond', '${JSON.stringify(row.raw_payload ?? {})}',
      now(), ${row.payment_id ? `'${row.payment_id}'` : "null"})`,
  );
  return id;
}

Deno.test("console notifications: are filtered by result, order and day", async () => {
  await using payments = await openNew();
  await insertNotification(payments, { order_id: "order-a", status: "failed" });
  await insertNotification(payments, { order_id: "order-b", status: "unmatched" });
  const staff = await openStaff(payments);
  const find = async (query: string) => {
    const { html } = await staff.open(`/console/notifications/?${query}`);
    return ["order-a", "order-b"].filter((order) => html.includes(`<td>${order}</td>`));
  };
  assert.deepEqual(await find(""), ["order-a", "order-b"]);
  assert.deepEqual(await find("status=unmatched"), ["order-b"]);
  assert.deepEqual(await find("order=order-a"), ["order-a"]);
  assert.deepEqual(await find("to=2020-01-01"), []);
  assert.match((await staff.open("/console/notifications/")).html, /Unknown transaction/);
});

Deno.test("console notification: shows what the gateway sent, the result, and the payment", async () => {
  await using payments = await openNew();
  const payment = await payments.charge("bca");
  const id = await insertNotification(payments, {
    order_id: payment.order_id,
    status: "failed",
    payment_id: payment.id,
    raw_payload: { transaction_status: "settlement", merchant_id: "M-1" },
  });
  const staff = await openStaff(payments);
  const { html } = await staff.open(`/console/notifications/${id}/`);
  assert.match(html, /the service gave up/);
  assert.match(html, /&quot;merchant_id&quot;: &quot;M-1&quot;/);
  assert.match(html, /The gateway did not respond/);
  assert.ok(html.includes(`href="/console/payments/${payment.id}/"`));
  assert.ok(html.includes(`data-live="${payment.id}"`));
  await staff.submit(/replay/);
  assert.match(staff.page.html, /was processed again/);
  assert.doesNotMatch(staff.page.html, /Not confirmed/, "the page shows the new result");
  const { html: timeline } = await staff.open(`/console/payments/${payment.id}/`);
  assert.ok(timeline.includes(`/console/notifications/${id}/`));
  assert.equal((await staff.open(`/console/notifications/${randomUUID()}/`)).status, 404);
});

async function insertJob({ databaseUrl }: TestPayments, task: string, status = "failed") {
  const id = randomUUID();
  await runSql(
    databaseUrl,
    `insert into gateway.jobs (id, task, subject_id, payload, status, attempts, error, result, run_at,
      created_at, updated_at)
    values ('${id}', '${task}', '${randomUUID()}', '{"token":"secret-input"}', '${status}', 6,
      'gateway_timeout: no response', '{"found":3}', now(), now(), now())`,
  );
  return id;
}

Deno.test("console jobs: are filtered by task and status; the page of one has its result and a retry", async () => {
  await using payments = await openNew();
  const failed = await insertJob(payments, "check_payment_status");
  const running = await insertJob(payments, "process_notification", "running");
  const staff = await openStaff(payments);
  const find = async (query: string) => {
    const { html } = await staff.open(`/console/jobs/?${query}`);
    return [failed, running].filter((id) => html.includes(`/console/jobs/${id}/"`));
  };
  assert.deepEqual(await find("task=process_notification"), [running]);
  assert.deepEqual(await find("status=failed"), [failed]);
  assert.deepEqual(await find("status=failed&task=process_notification"), []);
  const { html } = await staff.open(`/console/jobs/${failed}/`);
  assert.match(html, /gateway_timeout: no response/);
  assert.match(html, /&quot;found&quot;: 3/);
  assert.doesNotMatch(html, /secret-input/, "the input of a job is not shown");
  await staff.submit(/retry/);
  assert.match(staff.page.html, /The job runs again/);
  assert.match(staff.page.html, /class="status plain">Waiting/);
  assert.doesNotMatch((await staff.open(`/console/jobs/${running}/`)).html, /\/retry\//);
});

Deno.test("console schedule: shows the last and the next run of every task, and what is overdue", async () => {
  const now = Date.parse("2026-11-16T10:03:20Z");
  await using payments = await openNew({ now: () => now });
  await runSql(
    payments.databaseUrl,
    `insert into gateway.cron_runs (task, minute, started_at, finished_at, result, error) values
      ('prune', '2026-11-16T10:00Z', '2026-11-16T10:00:01Z', '2026-11-16T10:00:02Z', '7', null),
      ('sweep_jobs', '2026-11-16T09:00Z', '2026-11-16T09:00:01Z', '2026-11-16T09:00:02Z', null,
        'it broke <here>')`,
  );
  const staff = await openStaff(payments);
  const { html } = await staff.open("/console/jobs/schedule/");
  for (const { name: task } of SCHEDULE) {
    assert.ok(html.includes(`<td>${task}</td>`), task);
  }
  const rowOf = (task: string) => html.match(new RegExp(`<tr><td>${task}</td>.*?</tr>`, "s"))![0];
  assert.match(rowOf("prune"), /every 10 minutes.*Succeeded.*2026-11-16T10:00:01.*10:10:00.*>7</s);
  assert.match(
    rowOf("sweep_jobs"),
    /every minute.*Failed.*Overdue.*10:04:00.*it broke &lt;here&gt;/s,
  );
  assert.match(rowOf("update_stats"), /Has not run yet/);
  assert.match(html, /No instance runs the schedule/);
});

Deno.test("nextRun: returns the next minute that matches the cron expression", () => {
  const at = (cron: string, time: string) =>
    nextRun(cron, new Date(`2026-11-16T${time}Z`)).toISOString().slice(11, 16);
  assert.equal(at("* * * * *", "10:03:20"), "10:04");
  assert.equal(at("*/5 * * * *", "10:05:00"), "10:10");
  assert.equal(at("*/5 * * * *", "10:04:59"), "10:05");
  assert.equal(at("*/30 * * * *", "23:30:00"), "00:00");
  assert.equal(at("17 * * * *", "10:17:00"), "11:17");
});

Deno.test("console status: shows versions, the gateway, the database and settings, and no secret", async () => {
  const env = {
    ...REAL_INSTALLATION,
    METRICS_TOKEN: "m".repeat(40),
    AUTH_JWT_SECRET: "j".repeat(48),
    AUTH_JWT_ISSUER: "https://issuer.example",
    AUTH_JWT_AUDIENCE: "payments",
    AUTH_STAFF_CLAIM: "staff",
    KEEP_AUDIT_DAYS: "123",
  };
  await using payments = await openNew({ env });
  const id = await insertJob(payments, "check_payment_status");
  const staff = await openStaff(payments);
  const { html } = await staff.open("/console/status/");
  for (
    const text of [Deno.version.deno, "PostgreSQL", "KEEP_AUDIT_DAYS", "https://issuer.example"]
  ) {
    assert.ok(html.includes(text), text);
  }
  assert.match(html, /<dt>KEEP_AUDIT_DAYS<\/dt><dd>123<\/dd>/);
  assert.match(html, /<dt>PostgreSQL<\/dt><dd>\d+\.\d+/);
  assert.match(html, /<dt>Failed<\/dt><dd><a href="\/console\/jobs\/\?status=failed">1<\/a>/);
  assert.ok(html.includes(`/console/jobs/${id}/`), "the last failed jobs are linked");
  const { gateway } = payments.app.config;
  for (
    const secret of [
      gateway.serverKey,
      env.METRICS_TOKEN,
      env.AUTH_JWT_SECRET,
      env.DATABASE_URL,
      payments.databaseUrl,
    ]
  ) {
    assert.ok(!html.includes(secret), "a secret is shown");
  }
});

Deno.test("console audit: shows who did what, with filters and a link to what was changed", async () => {
  await using payments = await openNew();
  const { app } = payments;
  const payment = await payments.charge("bca");
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${payment.id}/cancel/`);
  await staff.submit(/cancel/);
  const viewer = await signInTo(app, await app.createKey({ userId: "vera", isViewer: true }));
  const { token } = formsOf(viewer.page.html)[0]!.fields;
  await viewer.post(`/console/payments/${payment.id}/expire/`, { token: token!, key: "1" });
  await app.audit.flush();
  const find = async (query: Record<string, string>) => {
    const { status, html } = await staff.open(`/console/audit/?${new URLSearchParams(query)}`);
    assert.equal(status, 200, html);
    return [...html.matchAll(/\?action=[^"]+">([^<]+)<\/a>/g)].map(([, action]) => action);
  };
  const cancel = "POST /console/payments/{id}/cancel/";
  const signIn = "POST /console/sign-in/";
  assert.deepEqual(await find({}), [
    "POST /console/payments/{id}/expire/",
    signIn,
    cancel,
    signIn,
    "POST /charge/",
  ]);
  assert.ok(staff.page.html.includes(`href="/console/payments/${payment.id}/"`));
  assert.match(staff.page.html, /Refused.*forbidden/s);
  assert.deepEqual(await find({ action: cancel }), [cancel]);
  assert.deepEqual(await find({ action: "POST /charge/" }), ["POST /charge/"]);
  assert.deepEqual(await find({ outcome: "refused" }), ["POST /console/payments/{id}/expire/"]);
  assert.deepEqual(await find({ to: "2020-01-01" }), []);
  const [, actor] = (await staff.open(`/console/audit/?action=${encodeURIComponent(cancel)}`)).html
    .match(/\?actor=([^"]+)"/)!;
  assert.deepEqual(await find({ actor: decodeURIComponent(actor!) }), [cancel, signIn]);
  assert.equal((await find({ resource: payment.id.toUpperCase() })).length, 3);
});

Deno.test("console lists: refuse text that PostgreSQL cannot store, like the API", async () => {
  await using payments = await openNew();
  const staff = await openStaff(payments);
  const filters = {
    audit: ["actor", "action", "resource"],
    events: ["resource"],
    notifications: ["order"],
    jobs: ["task"],
    customers: ["email", "phone"],
  };
  for (const [list, names] of Object.entries(filters)) {
    for (const name of names) {
      const { status, html } = await staff.open(`/console/${list}/?${name}=a%00b`);
      assert.equal(status, 400, `${list} ${name}`);
      assert.match(html, /must not contain control characters/, `${list} ${name}`);
    }
  }
});

Deno.test("audit: the action filters the list of the API, too", async () => {
  await using payments = await openNew();
  const key = await payments.app.createKey({ userId: "ops", isStaff: true });
  const { id } = await payments.charge("bca");
  await payments.post(`/payments/${id}/cancel/`, undefined, {}, key);
  const find = async (action: string) => {
    const response = await payments.get(`/audit/?${new URLSearchParams({ action })}`, key);
    return (await response.json()).map((entry: { action: string }) => entry.action);
  };
  assert.deepEqual(await find("POST /payments/{pk}/cancel/"), ["POST /payments/{pk}/cancel/"]);
  assert.deepEqual(await find("POST /charge/"), ["POST /charge/"]);
  assert.deepEqual(await find("POST /payments/{pk}/refund/"), []);
});

Deno.test("console lists: a full page of long texts of other systems is not too large", async () => {
  await using payments = await openNew();
  const { app, databaseUrl } = payments;
  const staffKey = await app.createKey({ userId: "ops", isStaff: true });
  const url = "https://shop.example/webhooks";
  const created = await payments.post("/webhook-endpoints/", { url }, {}, staffKey);
  const { id } = await created.json();
  const html = '<p class="x">Bad</p>'.repeat(50);
  await runSql(
    databaseUrl,
    `insert into gateway.webhook_deliveries (event_id, endpoint_id, event_name, resource_id, sequence,
      status, attempts, status_code, answer, duration_ms, last_attempt_at, created_at)
    select gen_random_uuid(), '${id}', 'subscription_cancelled', gen_random_uuid(), 1, 'failed', 10,
      502, '${html}', 187, now(), now() from generate_series(1, 60);
    insert into gateway.notifications (id, order_id, transaction_id, transaction_status, status_code,
      gross_amount, status, error_message, raw_payload, created_at)
    select gen_random_uuid(), 'order-' || repeat('x', 44), gen_random_uuid(), 'settlement', '200',
      '44000.00', 'failed', '${html}', '{}', now() from generate_series(1, 60);
    insert into gateway.jobs (id, task, subject_id, payload, status, attempts, error, run_at,
      created_at, updated_at)
    select gen_random_uuid(), 'check_subscription_status', gen_random_uuid(), '{}', 'failed', 6,
      '${html}', now(), now(), now() from generate_series(1, 60);
    insert into gateway.audit (id, actor, user_id, action, resource_id, outcome, status, code,
      attempts, request_id, created_at)
    select ('${firstIdAt(new Date()).slice(0, 24)}' || lpad(n::text, 12, '0'))::uuid,
      'api_key:gk_abcdefgh', 'somewhat-long-user@example.com',
      'POST /webhook-endpoints/{pk}/deliveries/{delivery_id}/resend/', gen_random_uuid(), 'refused',
      422, 'idempotency_key_reused', 3, gen_random_uuid(), now()
    from generate_series(1, 60) n`,
  );
  const staff = await signInTo(app, staffKey);
  for (const path of [`webhooks/${id}`, "notifications", "jobs", "audit"]) {
    const page = await staff.open(`/console/${path}/`);
    assert.ok(page.html.split("<tr>").length > 50, `${path} has a full page`);
    assert.ok(page.html.length < 60_000, `${path} has ${page.html.length} characters`);
  }
});
