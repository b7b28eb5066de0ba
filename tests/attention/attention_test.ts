import assert from "node:assert/strict";
import { checkAttention } from "../../core/attention/check_attention.ts";
import type { Caller } from "../../core/auth/caller.ts";
import { ATTENTION_CAUSES, type AttentionCause } from "../../core/events/attention.ts";
import { newId } from "../../core/ids.ts";
import { listUnansweredPayments } from "../../core/payments/read.ts";
import { countLastingUnknowns } from "../../db/reports/attention.ts";
import { StatusSchema } from "../../routes/status/schemas.ts";
import { openApp } from "../support/app.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openWebhookReceiver } from "../support/events/webhook_receiver.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { manualClock } from "../support/manual_clock.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";

interface Change {
  raise: string;
  clear: string;
}

const NOW = "now() - interval '1 minute'";
const AN_HOUR_AGO = "now() - interval '1 hour'";

const addJob = `insert into gateway.jobs (id, task, payload, status, run_at, created_at, updated_at)
  values (gen_random_uuid(), 'frown', '{}', 'failed', ${NOW}, ${NOW}, ${NOW})`;

/** Each statement changes the payments and checkouts of `openCauses`. */
const CHANGES: Record<Exclude<AttentionCause, "notifications_missing">, Change> = {
  outcomes_unknown: {
    raise: `update gateway.payments set transaction_id = null, transaction_status = 'pending',
      created_at = ${AN_HOUR_AGO}`,
    clear: "update gateway.payments set transaction_status = 'expire'",
  },
  payments_ownerless: {
    raise: `update gateway.payments set user_id = null, paid_at = ${NOW},
      transaction_status = 'settlement'`,
    clear: "update gateway.payments set user_id = 'alice'",
  },
  payments_unrecognized: {
    raise: "update gateway.payments set unrecognized_status = 'partial_settlement'",
    clear: "update gateway.payments set unrecognized_status = null",
  },
  checkouts_paid_twice: {
    raise: `insert into gateway.checkouts (id, user_id, order_id, status, gross_amount, currency,
        expires_at, ended_at, payment_id, extra_payment_id, created_at, updated_at)
      select gen_random_uuid(), 'alice', 'c1', 'paid', 1, 'IDR', ${NOW}, ${NOW}, min(id::text)::uuid,
        max(id::text)::uuid, ${NOW}, ${NOW} from gateway.payments;
      update gateway.payments set transaction_status = 'settlement', paid_at = ${NOW}`,
    clear: "delete from gateway.checkouts",
  },
  checkouts_paid_late: {
    raise: `insert into gateway.checkouts (id, user_id, order_id, status, gross_amount, currency,
        expires_at, ended_at, payment_id, is_late, created_at, updated_at)
      select gen_random_uuid(), 'alice', 'c2', 'paid', 1, 'IDR', ${NOW}, ${NOW}, min(id::text)::uuid,
        true, ${NOW}, ${NOW} from gateway.payments;
      update gateway.payments set transaction_status = 'settlement', paid_at = ${NOW}`,
    clear: "delete from gateway.checkouts",
  },
  report_differences: {
    raise: `insert into gateway.reconciliations (id, user_id, status, is_confirmed, summary,
        created_at)
      values (gen_random_uuid(), 'ops', 'succeeded', true,
        '{"results": {"matched": 5, "missing_here": 2}}', ${NOW})`,
    clear: "update gateway.reconciliations set resolved_count = 2",
  },
  notifications_failed: {
    raise: `insert into gateway.notifications (id, order_id, transaction_status, status_code,
        gross_amount, status, raw_payload, created_at)
      values (gen_random_uuid(), 'o1', 'settlement', '200', '1.00', 'failed', '{}', ${NOW})`,
    clear: "update gateway.notifications set status = 'processed'",
  },
  webhook_endpoints_failing: {
    raise: `insert into gateway.webhook_endpoints (id, url, secret, failing_since, created_at,
        updated_at)
      values (gen_random_uuid(), 'https://shop.example/', 'x', ${AN_HOUR_AGO}, ${NOW}, ${NOW})`,
    clear: "update gateway.webhook_endpoints set failing_since = null",
  },
  jobs_failed: {
    raise: `${addJob}; ${addJob}`,
    clear: "update gateway.jobs set status = 'succeeded'",
  },
  invariants_violated: {
    raise: `insert into gateway.contradictions values (gen_random_uuid(), 'x', 'payment', ${NOW})`,
    clear: "delete from gateway.contradictions",
  },
};

async function readAttention({ app, get }: TestPayments) {
  await app.publishEvents();
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const names = "name=attention_raised&name=attention_cleared";
  const response = await get(`/events/?order=oldest_first&${names}`, staff);
  const events: { name: string; sequence: number; data: { id: string; cause: string } }[] =
    await response.json();
  const status = StatusSchema.parse(await (await get("/status/", staff)).json());
  return { events, raised: status.attention.map(({ cause }) => cause) };
}

for (const [cause, { raise, clear }] of Object.entries(CHANGES)) {
  Deno.test(`attention: ${cause} is raised once, and cleared once when it is over`, async () => {
    await using payments = await openPayments();
    const { app, databaseUrl } = payments;
    await payments.charge("gopay");
    await payments.charge("bca");
    assert.deepEqual(await checkAttention(app.service), { raised: [], cleared: [] });
    await runSql(databaseUrl, raise);
    assert.deepEqual(await checkAttention(app.service), { raised: [cause], cleared: [] });
    assert.deepEqual(await checkAttention(app.service), { raised: [], cleared: [] });
    assert.deepEqual((await readAttention(payments)).raised, [cause]);
    await runSql(databaseUrl, clear);
    assert.deepEqual(await checkAttention(app.service), { raised: [], cleared: [cause] });
    assert.deepEqual(await checkAttention(app.service), { raised: [], cleared: [] });
    const { events, raised } = await readAttention(payments);
    assert.deepEqual(raised, []);
    assert.deepEqual(events.map(({ name, sequence, data }) => [name, sequence, data.cause]), [
      ["attention_raised", 1, cause],
      ["attention_cleared", 2, cause],
    ]);
    assert.equal(events[0]!.data.id, events[1]!.data.id);
  });
}

Deno.test("attention: every cause is tested", () => {
  assert.deepEqual(
    ["notifications_missing", ...Object.keys(CHANGES)].toSorted(),
    [...ATTENTION_CAUSES].toSorted(),
  );
});

Deno.test("attention: of several instances that check at once, one raises a cause and one clears it", async () => {
  const databaseUrl = await createDatabase();
  const apps = await Promise.all(
    Array.from({ length: 4 }, () => openApp({ databaseUrl, hasPositionPublisher: false })),
  );
  await using resources = new AsyncDisposableStack();
  for (const app of apps) resources.use(app);
  const checkAll = async () => {
    const results = await Promise.all(apps.map(({ service }) => checkAttention(service)));
    return {
      raised: results.flatMap(({ raised }) => raised),
      cleared: results.flatMap(({ cleared }) => cleared),
    };
  };
  for (let round = 1; round <= 5; round++) {
    await runSql(databaseUrl, addJob);
    assert.deepEqual(await checkAll(), { raised: ["jobs_failed"], cleared: [] });
    await runSql(databaseUrl, CHANGES.jobs_failed.clear);
    assert.deepEqual(await checkAll(), { raised: [], cleared: ["jobs_failed"] });
  }
  const rows = await apps[0]!.database.query((sql) =>
    sql`select name, sequence from gateway.events order by sequence`
  );
  assert.deepEqual(
    rows.map(({ name, sequence }) => [name, sequence]),
    Array.from({ length: 10 }, (_, index) => [
      index % 2 === 0 ? "attention_raised" : "attention_cleared",
      index + 1,
    ]),
  );
});

Deno.test("attention: an endpoint that fails for less than half an hour, and a fresh unknown outcome, are not raised", async () => {
  await using payments = await openPayments();
  await payments.charge("gopay");
  const { app, databaseUrl } = payments;
  const { outcomes_unknown, webhook_endpoints_failing } = CHANGES;
  await runSql(databaseUrl, outcomes_unknown.raise.replace(AN_HOUR_AGO, NOW));
  await runSql(databaseUrl, webhook_endpoints_failing.raise.replace(AN_HOUR_AGO, NOW));
  assert.deepEqual(await checkAttention(app.service), { raised: [], cleared: [] });
});

Deno.test("attention: a payment without a response is raised and listed, however many ended without one before", async () => {
  await using payments = await openPayments();
  const { app, databaseUrl } = payments;
  await runSql(
    databaseUrl,
    `insert into gateway.payments (id, user_id, order_id, payment_type, gross_amount, currency,
      transaction_status, sent_at, created_at, updated_at)
    select uuidv7(-age), 'alice', order_id, 'gopay', 44000, 'IDR', status, now() - age, now() - age,
      now() - age
    from (
      select 'a-' || number, 'failure', interval '1 day' from generate_series(1, 1001) number
      union all select 'b', 'pending', interval '1 hour'
    ) made (order_id, status, age)`,
  );
  const { raised } = await checkAttention(app.service);
  assert.deepEqual(raised, ["outcomes_unknown"]);
  const staff: Caller = {
    userId: "ops",
    isStaff: true,
    isViewer: false,
    credential: "api_key",
    keyPrefix: null,
  };
  const list = await listUnansweredPayments(app.service, staff, { after: null, limit: 10 });
  assert.deepEqual(list.payments.map(({ order_id }) => order_id), ["b"]);
});

/** Adds a refund that was made an hour ago; each is newer than those before it. */
async function addRefund(
  { app }: TestPayments,
  paymentId: string,
  status: string,
  statusCode: string | null,
): Promise<void> {
  await app.database.query((sql) =>
    sql`insert into gateway.refunds (id, payment_id, refund_key, amount, is_direct, status,
        status_code, created_at, updated_at)
      values (${newId(new Date())}, ${paymentId}, gen_random_uuid(), 1, false, ${status},
        ${statusCode}, now() - interval '1 hour', now())`
  );
}

Deno.test("attention: a refund with an unknown outcome counts, however many newer refunds there are", async () => {
  await using payments = await openPayments();
  const { id } = await payments.charge("gopay");
  for (const status of ["pending", "succeeded", "succeeded"]) {
    await addRefund(payments, id, status, null);
  }
  const { refunds } = await payments.app.database.query((sql) =>
    countLastingUnknowns(sql, new Date(), 1)
  );
  assert.equal(refunds, 1);
});

Deno.test("attention: a refund with an unknown outcome counts, however many older refunds wait for the bank", async () => {
  await using payments = await openPayments();
  const { id } = await payments.charge("gopay");
  for (const statusCode of ["201", "201", null]) {
    await addRefund(payments, id, "pending", statusCode);
  }
  const { refunds } = await payments.app.database.query((sql) =>
    countLastingUnknowns(sql, new Date(), 2)
  );
  assert.equal(refunds, 1);
});

Deno.test("attention: its events are delivered to webhook endpoints and staff, not to other users", async () => {
  const clock = manualClock();
  await using receiver = openWebhookReceiver();
  await using payments = await openPayments({
    now: clock.now,
    env: { WEBHOOK_ALLOW_PRIVATE: "true", PUBLIC_URL: "https://pay.shop.example" },
  });
  const { app, databaseUrl } = payments;
  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const body = { url: receiver.url, event_names: ["attention_raised"] };
  const created = await payments.post("/webhook-endpoints/", body, {}, staff);
  assert.equal(created.status, 201, await created.text());
  await runSql(databaseUrl, CHANGES.jobs_failed.raise);
  await checkAttention(app.service);
  await runDueJobs(app);
  clock.advance(2_000);
  await runDueJobs(app);
  const [webhook] = receiver.received.map(({ body }) => JSON.parse(new TextDecoder().decode(body)));
  assert.equal(receiver.received.length, 1);
  assert.equal(webhook.name, "attention_raised");
  const { id, since, ...data } = webhook.data;
  assert.equal(typeof id, "string");
  assert.equal(since, webhook.created_at);
  assert.deepEqual(data, {
    cause: "jobs_failed",
    is_raised: true,
    title: "Jobs failed permanently",
    next_step: "Read their errors, remove the cause, and retry them.",
    count: 2,
    cleared_at: null,
    console_url: "https://pay.shop.example/console/jobs/?status=failed",
    notification_id: null,
  });
  assert.equal((await payments.get("/events/")).status, 403);
});
