import { z } from "@hono/zod-openapi";
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import postgres from "postgres";
import type { RetentionDays } from "../../core/config/config.ts";
import { newId } from "../../core/ids.ts";
import { prune } from "../../core/tasks/prune.ts";
import { createEvents } from "../../core/handlers/events.ts";
import type { Database } from "../../db/connection/database.ts";
import { EventSchema } from "../../routes/events/schemas.ts";
import { openApp, REAL_INSTALLATION, type TestApp, type TestAppOptions } from "../support/app.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { rowsRead } from "../support/database/rows_read.ts";
import { publishAll, untilPublished } from "../support/events/publication.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { until } from "../support/until.ts";

const NOW = Date.UTC(2026, 5, 1, 12);
const DAY_MS = 24 * 3_600_000;

function daysAgo(days: number): Date {
  return new Date(NOW - days * DAY_MS);
}

/** An app with a new database and a clock that always shows `NOW`. The tests publish the events. */
async function openWithFixedClock(
  options: Partial<TestAppOptions> = {},
): Promise<{ url: string; app: TestApp } & AsyncDisposable> {
  const url = options.databaseUrl ?? await createDatabase();
  const fixed = { databaseUrl: url, now: () => NOW, hasPositionPublisher: false };
  const app = await openApp({ ...fixed, ...options });
  return { url, app, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

async function idsIn(url: string, table: string): Promise<string[]> {
  return (await runSql(url, `select id from gateway.${table} order by id`)).map(({ id }) => id);
}

interface OldJob {
  created: Date;
  updated?: Date;
  status?: string;
  task?: string;
  subject?: string | null;
  payload?: object;
}

async function addJob({ database }: TestApp, job: OldJob): Promise<string> {
  const { created, updated = created, status = "succeeded", task = "greet" } = job;
  const { subject = null, payload = {} } = job;
  const id = newId(created);
  await database.query((sql) =>
    sql`
      insert into gateway.jobs
        (id, task, subject_id, payload, status, run_at, created_at, updated_at)
      values (${id}, ${task}, ${subject}, ${JSON.stringify(payload)}::text::json, ${status},
        ${created}, ${created}, ${updated})`
  );
  return id;
}

async function addNotification({ database }: TestApp, created: Date, status = "processed") {
  const id = newId(created);
  await database.query((sql) =>
    sql`
      insert into gateway.notifications (id, order_id, transaction_status, status_code,
        gross_amount, status, raw_payload, created_at)
      values (${id}, 'order-1', 'settlement', '200', '1.00', ${status}, '{}', ${created})`
  );
  return id;
}

async function addAudit({ database }: TestApp, created: Date): Promise<void> {
  await database.query((sql) =>
    sql`
      insert into gateway.audit (id, actor, user_id, action, outcome, status, request_id, created_at)
      values (${
      newId(created)
    }, 'jwt:alice', 'alice', 'POST /keys/', 'refused', 403, 'r', ${created})`
  );
}

/** Adds a reconciliation with two lines. */
async function addReconciliation(
  { database }: TestApp,
  created: Date,
  status = "succeeded",
): Promise<string> {
  const id = newId(created);
  await database.query((sql) =>
    sql`
      with lines as (
        insert into gateway.reconciliation_lines (reconciliation_id, line, kind, amount, result)
        select ${id}, line, 'settlement', 1000, 'missing_here' from generate_series(1, 2) line
      )
      insert into gateway.reconciliations (id, user_id, status, is_confirmed, created_at)
      values (${id}, 'alice', ${status}, false, ${created})`
  );
  return id;
}

/** A published event without deliveries. */
async function addEvent(
  { database }: TestApp,
  created: Date,
  { resource = randomUUID(), sequence = 1 } = {},
): Promise<string> {
  const id = newId(created);
  await database.query((sql) =>
    sql`
      with written as (
        insert into gateway.events (id, name, resource, resource_id, sequence, data, created_at)
        values (${id}, 'payment_settled', 'payment', ${resource}, ${sequence}, '{}', ${created})
      ), advanced as (
        update gateway.event_publication set last_position = last_position + 1
        returning last_position
      )
      insert into gateway.published_events (position, event_id, name)
      select last_position, ${id}::uuid, 'payment_settled' from advanced`
  );
  return id;
}

async function addKey({ database }: TestApp, created: Date, leaseUntil = created) {
  const key = randomUUID();
  await database.query((sql) =>
    sql`
      insert into gateway.idempotency_keys
        (user_id, scope, key, body_hash, lease_until, created_at)
      values ('alice', 'POST /charge/', ${key}, '\\x00', ${leaseUntil}, ${created})`
  );
  return key;
}

async function keysIn(url: string): Promise<string[]> {
  const rows = await runSql(
    url,
    "select key from gateway.idempotency_keys order by created_at, key",
  );
  return rows.map(({ key }) => key);
}

Deno.test("prune: deletes finished jobs after their retention, and keeps all others", async () => {
  await using opened = await openWithFixedClock();
  const { app, url } = opened;
  for (const status of ["succeeded", "failed"]) await addJob(app, { created: daysAgo(31), status });
  const keptIds = [
    await addJob(app, { created: daysAgo(40), updated: daysAgo(2) }),
    await addJob(app, { created: daysAgo(39), status: "queued" }),
    await addJob(app, { created: daysAgo(38), status: "running" }),
    await addJob(app, { created: daysAgo(29) }),
    await addJob(app, { created: daysAgo(28), status: "failed" }),
  ];
  assert.equal((await prune(app.service)).jobs, 2);
  assert.deepEqual(await idsIn(url, "jobs"), keptIds);
  assert.equal((await prune({ ...app.service, keep: { ...app.service.keep, jobs: 1 } })).jobs, 3);
  assert.deepEqual(await idsIn(url, "jobs"), keptIds.slice(1, 3));
});

Deno.test("prune: deletes old notifications of every status except received", async () => {
  await using opened = await openWithFixedClock();
  const { app, url } = opened;
  for (const status of ["processed", "duplicate", "stale", "unmatched", "failed"]) {
    await addNotification(app, daysAgo(401), status);
  }
  const keptIds = [
    await addNotification(app, daysAgo(402), "received"),
    await addNotification(app, daysAgo(399)),
  ];
  assert.equal((await prune(app.service)).notifications, 5);
  assert.deepEqual(await idsIn(url, "notifications"), keptIds);
});

Deno.test("prune: deletes old events, except those that a queued or running delivery still needs", async () => {
  await using opened = await openWithFixedClock();
  const { app, url } = opened;
  const [waiting, running, handled, failed] = Array.from({ length: 4 }, () => randomUUID());
  await addEvent(app, daysAgo(410));
  await addEvent(app, daysAgo(409), { resource: waiting });
  await addEvent(app, daysAgo(405), { resource: handled });
  await addEvent(app, daysAgo(404), { resource: failed });
  const keptIds = [
    await addEvent(app, daysAgo(408), { resource: waiting, sequence: 2 }),
    await addEvent(app, daysAgo(407), { resource: waiting, sequence: 3 }),
    await addEvent(app, daysAgo(406), { resource: running }),
    await addEvent(app, daysAgo(399)),
  ];
  const deliver = (task: string, status: string, subject: string, sequence: number) =>
    addJob(app, { created: daysAgo(1), task, status, subject, payload: { sequence } });
  await deliver("deliver books", "queued", waiting!, 2);
  await deliver("deliver mails", "queued", waiting!, 3);
  await deliver("deliver mails", "running", running!, 1);
  await deliver("deliver books", "succeeded", handled!, 1);
  await deliver("deliver books", "failed", failed!, 1);
  // Other jobs of the same resource do not keep an event.
  await addJob(app, {
    created: daysAgo(1),
    task: "check_payment_status",
    status: "queued",
    subject: handled,
  });
  assert.equal((await prune(app.service)).events, 4);
  assert.deepEqual(await idsIn(url, "events"), keptIds);
});

/** Adds a webhook endpoint, and a pending delivery to it for each of these events. */
async function addHeldDeliveries(
  { database }: TestApp,
  eventIds: string[],
  disabledReason: string | null,
): Promise<string> {
  const id = randomUUID();
  await database.query((sql) =>
    sql`
      insert into gateway.webhook_endpoints (id, url, disabled_reason, secret, created_at, updated_at)
      values (${id}, 'https://shop.example', ${disabledReason}, 'x', now(), now())`
  );
  await database.query((sql) =>
    sql`
      insert into gateway.webhook_deliveries (event_id, endpoint_id, event_name, resource_id, sequence,
        next_attempt_at, created_at)
      select id, ${id}, name, resource_id, sequence, created_at, created_at from gateway.events
      where id = any(${eventIds})`
  );
  return id;
}

Deno.test("prune: expires old deliveries that wait for a disabled endpoint, and deletes their events", async () => {
  await using opened = await openWithFixedClock();
  const { app, url } = opened;
  const oldEvents = [await addEvent(app, daysAgo(402)), await addEvent(app, daysAgo(401))];
  const youngEvent = await addEvent(app, daysAgo(399));
  await addHeldDeliveries(app, [...oldEvents, youngEvent], "requested");
  const forEnabled = await addEvent(app, daysAgo(403));
  const enabled = await addHeldDeliveries(app, [forEnabled], null);
  const pruned = await prune(app.service);
  assert.deepEqual([pruned.deliveries, pruned.events], [2, 2]);
  assert.deepEqual(await idsIn(url, "events"), [forEnabled, youngEvent]);
  const pending = await runSql(
    url,
    "select endpoint_id, event_id from gateway.webhook_deliveries where status = 'pending'",
  );
  assert.deepEqual(
    pending.map(({ event_id }) => event_id).toSorted(),
    [forEnabled, youngEvent].toSorted(),
  );
  assert.equal(pending.find(({ event_id }) => event_id === forEnabled)!.endpoint_id, enabled);
});

Deno.test("prune: KEEP_HELD_DELIVERIES_DAYS expires deliveries earlier and keeps their events, and staff can resend the deliveries", async () => {
  await using opened = await openWithFixedClock({
    env: { ...REAL_INSTALLATION, KEEP_HELD_DELIVERIES_DAYS: "10" },
  });
  const { app, url } = opened;
  const oldEvent = await addEvent(app, daysAgo(11));
  const youngEvent = await addEvent(app, daysAgo(9));
  const endpoint = await addHeldDeliveries(app, [oldEvent, youngEvent], "failing");
  const pruned = await prune(app.service);
  assert.deepEqual([pruned.deliveries, pruned.events], [1, 0]);
  assert.deepEqual(await idsIn(url, "events"), [oldEvent, youngEvent]);
  const staff = await app.createKey({ isStaff: true });
  const path = `/webhook-endpoints/${endpoint}/deliveries/`;
  const [shownDelivery] = await (await app.as(staff, `${path}?status=failed`)).json();
  assert.equal(shownDelivery.id, oldEvent);
  assert.match(shownDelivery.error, /^Expired: the endpoint was disabled for too long/);
  const resent = await app.as(staff, `${path}${oldEvent}/resend/`, { method: "POST" });
  assert.equal((await resent.json()).status, "pending");
});

Deno.test("prune: rows that are kept do not prevent later runs from deleting the rows after them", async () => {
  await using opened = await openWithFixedClock();
  const { app, url } = opened;
  const keptIds: string[] = [];
  for (let i = 0; i < 20; i++) keptIds.push(await addEvent(app, daysAgo(500 - i)));
  // The endpoint is enabled, so its pending deliveries still need these events.
  await addHeldDeliveries(app, keptIds, null);
  for (let i = 0; i < 3; i++) await addEvent(app, daysAgo(450 - i));
  const step = { rows: 4, max: 3 };
  assert.equal((await prune(app.service, step)).events, 0);
  assert.equal((await prune(app.service, step)).events, 3, "the second run continues");
  assert.deepEqual(await idsIn(url, "events"), keptIds);
  // After the last row, the next run begins with the oldest one again.
  await runSql(url, "update gateway.webhook_deliveries set status = 'delivered'");
  assert.equal((await prune(app.service, step)).events, 12);
  assert.equal((await prune(app.service, step)).events, 8);
});

Deno.test("prune: keeps an event until it has a position, and deletes the event together with its position", async () => {
  await using opened = await openWithFixedClock();
  const { app, url } = opened;
  await addEvent(app, daysAgo(401));
  await runSql(
    url,
    `with written as (
      insert into gateway.events (id, name, resource, resource_id, sequence, data, created_at)
      select '${newId(daysAgo(401))}', name, resource, gen_random_uuid(), 1, data, created_at
      from gateway.events returning id
    )
    insert into gateway.event_outbox (event_id) select id from written`,
  );
  assert.equal((await prune(app.service)).events, 1);
  assert.deepEqual([...await runSql(url, "select from gateway.published_events")], []);
  await publishAll(app.database);
  assert.equal((await prune(app.service)).events, 1);
});

Deno.test("prune: deletes idempotency keys after their retention, but not within 24 hours or during a lease", async () => {
  await using opened = await openWithFixedClock();
  const { app, url } = opened;
  await addKey(app, daysAgo(1.01));
  const keptKeys = [
    // Leases end by the database's clock.
    await addKey(app, daysAgo(2), new Date(Date.now() + 5 * 60_000)),
    await addKey(app, daysAgo(0.99)),
    await addKey(app, daysAgo(0)),
  ];
  for (const keys of [1, 0, -5]) {
    await prune({ ...app.service, keep: { ...app.service.keep, keys } });
  }
  assert.deepEqual(await keysIn(url), keptKeys);
  await addKey(app, daysAgo(6.9));
  assert.equal((await prune({ ...app.service, keep: { ...app.service.keep, keys: 7 } })).keys, 0);
});

Deno.test("prune: KEEP_* settings change how long rows are kept", async () => {
  await using opened = await openWithFixedClock({
    env: {
      ...REAL_INSTALLATION,
      KEEP_JOBS_DAYS: "7",
      KEEP_NOTIFICATIONS_DAYS: "8",
      KEEP_EVENTS_DAYS: "9",
      KEEP_AUDIT_DAYS: "10",
      KEEP_RECONCILIATIONS_DAYS: "11",
      KEEP_KEYS_DAYS: "2",
      KEEP_HELD_DELIVERIES_DAYS: "5",
    },
  });
  const { app } = opened;
  const add = async (days: Omit<RetentionDays, "deliveries">) => {
    await addJob(app, { created: daysAgo(days.jobs) });
    await addNotification(app, daysAgo(days.notifications));
    await addEvent(app, daysAgo(days.events));
    await addAudit(app, daysAgo(days.audit));
    await addKey(app, daysAgo(days.keys));
    await addReconciliation(app, daysAgo(days.reconciliations));
  };
  const days = { jobs: 7, notifications: 8, events: 9, audit: 10, reconciliations: 11, keys: 2 };
  const changed = (by: number) =>
    Object.fromEntries(Object.entries(days).map(([name, age]) => [name, age + by])) as typeof days;
  await add(changed(-0.1));
  const none = { jobs: 0, notifications: 0, events: 0, audit: 0, keys: 0, deliveries: 0 };
  assert.deepEqual(await prune(app.service), { ...none, reconciliations: 0 });
  await add(changed(0.1));
  const oneOfEach = { jobs: 1, notifications: 1, events: 1, audit: 1, keys: 1, deliveries: 0 };
  assert.deepEqual(await prune(app.service), { ...oneOfEach, reconciliations: 1 });
});

Deno.test("prune: deletes old reconciliations and interrupted uploads with their lines, in small steps", async () => {
  const steps: unknown[] = [];
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    async query(work, name) {
      const done = await database.query(work, name);
      if (name === "delete lines") steps.push(done);
      return done;
    },
  });
  await using opened = await openWithFixedClock({ wrapDatabase });
  const { app, url } = opened;
  const large = await addReconciliation(app, daysAgo(500));
  await runSql(
    url,
    `insert into gateway.reconciliation_lines (reconciliation_id, line, kind, amount)
      select '${large}', line, 'settlement', 1 from generate_series(3, 4500) line`,
  );
  await addReconciliation(app, daysAgo(401), "running");
  await addReconciliation(app, daysAgo(1.1), "uploading");
  const kept = [
    await addReconciliation(app, daysAgo(399)),
    await addReconciliation(app, daysAgo(0.9), "uploading"),
  ];
  assert.equal((await prune(app.service)).reconciliations, 3);
  assert.deepEqual(await idsIn(url, "reconciliations"), kept);
  const left = await runSql(
    url,
    "select distinct reconciliation_id as id from gateway.reconciliation_lines order by 1",
  );
  assert.deepEqual(left.map(({ id }) => id), kept);
  const ofLarge = Array.from({ length: 9 }, (_, index) => (index + 1) * 500);
  assert.deepEqual(steps, [...ofLarge, null, 2, null, 2, null], "the last line of each step");
});

Deno.test("prune: each statement deletes at most 500 rows", async () => {
  const deleted: Record<string, number[]> = { "prune jobs": [], "prune keys": [] };
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    async query(work, name) {
      const before = name && deleted[name] ? await countAll() : 0;
      const done = await database.query(work, name);
      if (name && deleted[name]) deleted[name].push(before - await countAll());
      return done;
    },
  });
  await using opened = await openWithFixedClock({ wrapDatabase });
  const { app, url } = opened;
  const countAll = async () => {
    const [rows] = await runSql(
      url,
      `select (select count(*) from gateway.jobs)::int +
        (select count(*) from gateway.idempotency_keys)::int as count`,
    );
    return rows!.count;
  };
  const at = `'${daysAgo(31).toISOString()}'::timestamptz`;
  await runSql(
    url,
    `insert into gateway.jobs (id, task, payload, status, run_at, created_at, updated_at)
       select (lpad(to_hex(${NOW - 31 * DAY_MS}::bigint), 12, '0') || '70008000' ||
         lpad(to_hex(n), 12, '0'))::uuid, 'greet', '{}', 'succeeded', ${at}, ${at}, ${at}
       from generate_series(1, 1200) n;
     insert into gateway.idempotency_keys (user_id, scope, key, body_hash, lease_until, created_at)
       select 'alice', 'POST /charge/', n, '\\x00', ${at}, ${at} from generate_series(1, 1200) n`,
  );
  const { jobs, keys } = await prune(app.service);
  assert.deepEqual([jobs, keys], [1_200, 1_200]);
  for (const [name, steps] of Object.entries(deleted)) {
    assert.ok(Math.max(...steps) <= 500, `${name}: ${steps}`);
  }
});

Deno.test("prune: one run deletes a bounded number of rows, and the next run continues", async () => {
  await using opened = await openWithFixedClock();
  const { app, url } = opened;
  for (let i = 0; i < 25; i++) {
    await addJob(app, { created: daysAgo(50 - i / 10), status: i % 5 === 0 ? "queued" : "failed" });
    await addKey(app, daysAgo(3));
  }
  const step = { rows: 4, max: 3 };
  const firstRun = await prune(app.service, step);
  assert.deepEqual([firstRun.jobs, firstRun.keys], [9, 12]);
  const rest = { jobs: 0, keys: 0 };
  for (let i = 0; i < 5; i++) {
    const { jobs, keys } = await prune(app.service, { rows: 4, max: 5 });
    rest.jobs += jobs;
    rest.keys += keys;
  }
  assert.deepEqual(rest, { jobs: 11, keys: 13 });
  assert.equal((await idsIn(url, "jobs")).length, 5);
  assert.deepEqual(await keysIn(url), []);
});

Deno.test("prune: skips locked rows without waiting", async () => {
  await using opened = await openWithFixedClock();
  const { app, url } = opened;
  const held = await addJob(app, { created: daysAgo(31), status: "failed" });
  const heldKey = await addKey(app, daysAgo(3));
  await addJob(app, { created: daysAgo(31), status: "failed" });
  await addKey(app, daysAgo(3));
  const otherConnection = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await otherConnection.begin(async (sql) => {
      await sql`update gateway.jobs set status = 'queued' where id = ${held}`;
      await sql`update gateway.idempotency_keys set lease_until = now() where key = ${heldKey}`;
      const { jobs, keys } = await prune(app.service);
      assert.deepEqual([jobs, keys], [1, 1]);
    });
  } finally {
    await otherConnection.end();
  }
  assert.deepEqual(await idsIn(url, "jobs"), [held]);
  assert.deepEqual(await keysIn(url), [heldKey]);
});

Deno.test("prune: five concurrent runs delete every row once", async () => {
  await using opened = await openWithFixedClock();
  const { app } = opened;
  for (let i = 0; i < 60; i++) {
    await addJob(app, { created: daysAgo(31) });
    await addKey(app, daysAgo(3));
  }
  const runs = await Promise.all(
    Array.from({ length: 5 }, () => prune(app.service, { rows: 7, max: 100 })),
  );
  await prune(app.service);
  const sum = (of: "jobs" | "keys") => runs.reduce((total, run) => total + run[of], 0);
  assert.ok(sum("jobs") <= 60 && sum("keys") <= 60);
  assert.deepEqual(await idsIn(opened.url, "jobs"), []);
  assert.deepEqual(await keysIn(opened.url), []);
});

Deno.test("prune: does not read rows that are kept", async () => {
  const databaseUrl = await createDatabase({ isNew: true });
  await using opened = await openWithFixedClock({ databaseUrl });
  const { app, url } = opened;
  await runSql(
    url,
    `create function pg_temp.young(n int) returns uuid language sql as $$
       select (lpad(to_hex(${NOW - DAY_MS / 4}::bigint + n), 12, '0')
         || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid $$;
     insert into gateway.jobs (id, task, payload, status, run_at, created_at, updated_at)
       select pg_temp.young(n), 'greet', '{}', 'succeeded', t, t, t
       from generate_series(1, 20000) n, (values ('${
      daysAgo(0.25).toISOString()
    }'::timestamptz)) t(t);
     insert into gateway.events (id, name, resource, resource_id, sequence, data, created_at)
       select id, 'payment_settled', 'payment', id, 1, '{}', created_at from gateway.jobs;
     insert into gateway.notifications (id, order_id, transaction_status, status_code, gross_amount,
         status, raw_payload, created_at)
       select id, 'order-1', 'settlement', '200', '1.00', 'processed', '{}', created_at
       from gateway.jobs;
     insert into gateway.idempotency_keys (user_id, scope, key, body_hash, lease_until, created_at)
       select 'alice', 'POST /charge/', id, '\\x00', created_at, created_at from gateway.jobs;
     insert into gateway.reconciliations (id, user_id, status, is_confirmed, created_at)
       select id, 'alice', case when right(id::text, 3) = '000' then 'uploading' else 'succeeded' end,
         false, created_at
       from gateway.jobs`,
  );
  for (let i = 0; i < 3; i++) {
    await addJob(app, { created: daysAgo(31) });
    await addEvent(app, daysAgo(401));
    await addNotification(app, daysAgo(401));
    await addAudit(app, daysAgo(401));
    await addKey(app, daysAgo(2));
    await addReconciliation(app, daysAgo(401));
  }
  await runSql(url, "analyze");
  const rowsOfFullScan = await rowsRead(
    url,
    (each) => each.query((sql) => sql`select from gateway.jobs`),
  );
  assert.ok(rowsOfFullScan >= 20_000, `${rowsOfFullScan} rows were read`);
  // In addition, many deliveries are queued.
  await runSql(
    url,
    `insert into gateway.jobs
       (id, task, subject_id, payload, status, run_at, created_at, updated_at)
     select gen_random_uuid(), 'deliver books', id, '{"sequence": 1}', 'queued', created_at,
       created_at, created_at
     from gateway.jobs limit 5000`,
  );
  let deleted: unknown;
  const read = await rowsRead(url, async (database) => {
    deleted = await prune({ ...app.service, database });
  });
  assert.deepEqual(deleted, {
    jobs: 3,
    notifications: 3,
    events: 3,
    audit: 3,
    keys: 3,
    deliveries: 0,
    reconciliations: 3,
  });
  assert.ok(read < 200, `${read} rows were read`);
});

async function readEvents({ app }: TestPayments, key: string, path: string) {
  const response = await app.as(key, path);
  assert.equal(response.status, 200);
  const next = response.headers.get("Link")?.match(/<(.*)>/)?.[1] ?? null;
  return { events: z.array(EventSchema).parse(await response.json()), next };
}

Deno.test("event list: a cursor whose event was pruned continues with the oldest event that is left", async () => {
  let now = Date.now();
  await using payments = await openPayments({ now: () => now });
  const { app } = payments;
  const staff = await app.createKey({ isStaff: true });
  const firstPath = "/events/?order=oldest_first&limit=1";
  const untilShown = (count: number) =>
    until(`${count} events are shown`, async () => {
      const { events } = await readEvents(payments, staff, "/events/?limit=100");
      return events.length === count;
    });
  const firstPayment = await payments.charge();
  await payments.charge();
  await untilShown(2);
  const { next } = await readEvents(payments, staff, firstPath);
  const newestPage = await readEvents(payments, staff, "/events/?limit=1");
  const eventsOfFirst = `/events/?order=oldest_first&limit=1&resource_id=${firstPayment.id}`;
  now += 401 * DAY_MS;
  assert.equal((await prune(app.service)).events, 2);
  const laterPayments = [await payments.charge(), await payments.charge()];
  await untilShown(2);
  const nextPage = await readEvents(payments, staff, next!);
  assert.equal(nextPage.events[0]!.data.id, laterPayments[0]!.id);
  assert.equal(
    (await readEvents(payments, staff, nextPage.next!)).events[0]!.data.id,
    laterPayments[1]!.id,
  );
  assert.deepEqual((await readEvents(payments, staff, newestPage.next!)).events, []);
  assert.deepEqual((await readEvents(payments, staff, eventsOfFirst)).events, []);
});

Deno.test("event sequence: continues after a payment's events were pruned, and the handler gets the next event", async () => {
  let now = Date.now();
  const events = createEvents();
  const handled: string[] = [];
  events.on(["payment_received", "payment_settled"], ({ name }) => handled.push(name), {
    as: "books",
  });
  await using payments = await openPayments({ now: () => now, events });
  const { app, sandbox } = payments;
  const { id, transaction_id } = await payments.charge("gopay");
  await runDueJobs(app);
  await untilPublished(app);
  now += 401 * DAY_MS;
  assert.equal((await prune(app.service)).events, 1);
  await sandbox.control(`transactions/${transaction_id}/pay`);
  await payments.refresh(id);
  const rows = await app.database.query((sql) =>
    sql`select name, sequence from gateway.events where resource_id = ${id}`
  );
  assert.deepEqual([...rows], [{ name: "payment_settled", sequence: 2 }]);
  await runDueJobs(app);
  assert.deepEqual(handled, ["payment_received", "payment_settled"]);
});

Deno.test("prune: keeps an event until its handler has handled it", async () => {
  let now = Date.now();
  const events = createEvents();
  let isBroken = true;
  const handled: string[] = [];
  events.on("payment_received", ({ data }) => {
    if (isBroken) throw new Error("not now");
    handled.push(data.id);
  });
  await using payments = await openPayments({ now: () => now, events });
  const { app } = payments;
  const { id } = await payments.charge();
  await runDueJobs(app);
  await untilPublished(app);
  now += 2 * DAY_MS;
  const keep = { ...app.service.keep, events: 1 };
  assert.equal((await prune({ ...app.service, keep })).events, 0);
  isBroken = false;
  await runDueJobs(app);
  assert.deepEqual(handled, [id]);
  assert.equal((await prune({ ...app.service, keep })).events, 1);
});

Deno.test("idempotency key: its reply is replayed for a day, and it can be reused after pruning", async () => {
  let now = Date.now();
  await using payments = await openPayments({ now: () => now });
  const { app } = payments;
  const key = newKey();
  const body = { payment_type: "bank_transfer", bank: "bca", gross_amount: 10_000 };
  const charge = async () => {
    const response = await payments.post("/charge/", body, key);
    return { isReplayed: isReplayed(response), id: (await response.json()).id };
  };
  const firstCharge = await charge();
  now += 23 * 3_600_000;
  assert.equal((await prune(app.service)).keys, 0);
  assert.deepEqual(await charge(), { isReplayed: true, id: firstCharge.id });
  now += 2 * 3_600_000;
  assert.equal((await prune(app.service)).keys, 1);
  const secondCharge = await charge();
  assert.equal(secondCharge.isReplayed, false);
  assert.notEqual(secondCharge.id, firstCharge.id);
});
