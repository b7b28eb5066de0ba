import type { z } from "@hono/zod-openapi";
import assert from "node:assert/strict";
import { newId } from "../../core/ids.ts";
import { tick } from "../../core/jobs/schedule.ts";
import { createWorker } from "../../core/jobs/worker.ts";
import { SCHEDULE } from "../../core/tasks/schedule.ts";
import { isOverdue } from "../../core/status/status.ts";
import { readWorkload } from "../../core/status/workload.ts";
import { createEvents } from "../../core/handlers/events.ts";
import { openInstanceLock } from "../../db/connection/instance_lock.ts";
import { insertJobs } from "../../db/jobs/jobs.ts";
import { StatusSchema } from "../../routes/status/schemas.ts";
import { openApp, REAL_INSTALLATION, type TestApp, type TestAppOptions } from "../support/app.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { rowsRead } from "../support/database/rows_read.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { newJob, task } from "../support/jobs/jobs.ts";
import { openPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";

const NOW = Date.UTC(2026, 5, 1, 12);
const MINUTE_MS = 60_000;

type Status = z.output<typeof StatusSchema>;

interface WatchedApp extends AsyncDisposable {
  url: string;
  app: TestApp;
  now: number;
  status(): Promise<Status>;
}

/** An app with its own database and clock, and a staff key to read its status. */
async function openWatched(options: Partial<TestAppOptions> = {}): Promise<WatchedApp> {
  const url = await createDatabase();
  const time = { now: NOW };
  const app = await openApp({ databaseUrl: url, now: () => time.now, ...options });
  const staff = await app.createKey({ isStaff: true });
  return Object.assign(time, {
    url,
    app,
    status: () => statusOf(app, staff),
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  });
}

async function statusOf(app: TestApp, staff: string): Promise<Status> {
  const response = await app.as(staff, "/status/");
  assert.equal(response.status, 200, await response.clone().text());
  return StatusSchema.parse(await response.json());
}

function entryOf({ schedule }: Status, name: string) {
  const entry = schedule.find(({ task }) => task === name);
  assert.ok(entry);
  return entry;
}

Deno.test("status: shows whether leases end when the instance loses its lock, or only when they expire", async () => {
  await using withoutLock = await openWatched();
  assert.equal((await withoutLock.status()).leases, "time");
  const url = await createDatabase();
  const lock = await openInstanceLock({ url, onLost() {} });
  await using withLock = await openWatched({ thisInstance: lock });
  assert.equal((await withLock.status()).leases, "lock");
  await lock[Symbol.asyncDispose]();
  assert.equal((await withLock.status()).leases, "time");
});

Deno.test("status and metrics: show the build", async () => {
  await using watched = await openWatched({ env: { ...REAL_INSTALLATION, BUILD: "ee3612b0" } });
  assert.equal((await watched.status()).build, "ee3612b0");
  const staff = await watched.app.createKey({ isStaff: true });
  const metrics = await (await watched.app.as(staff, "/metrics/")).text();
  assert.match(metrics, /^payment_gateway_build_info\{version="1\.0\.0",build="ee3612b0"/m);
});

Deno.test("status: is forbidden for users", async () => {
  await using watched = await openWatched();
  const alice = await watched.app.createKey();
  await assertProblem(await watched.app.as(alice, "/status/"), 403, "forbidden");
});

Deno.test("status of a new service: shows no work and nothing overdue", async () => {
  await using watched = await openWatched();
  watched.now += MINUTE_MS;
  const { schedule, ...status } = await watched.status();
  assert.deepEqual(status, {
    version: "1.0.0",
    build: null,
    started_at: new Date(NOW).toISOString(),
    database: "up",
    gateway: "ok",
    gateway_reads: "ok",
    gateway_writes: "ok",
    leases: "time",
    clock: { is_accurate: true, database_offset_seconds: 0, gateway_offset_seconds: null },
    jobs: {
      queued: 0,
      running: 0,
      failed: 0,
      oldest_queued_seconds: null,
      by_task: [],
      last_failures: [],
    },
    events: { unpublished: 0, oldest_unpublished_seconds: null },
    outbox: { waiting_deliveries: 0, oldest_event_seconds: null },
    webhooks: { pending: 0, oldest_pending_seconds: null, disabled_endpoints: 0 },
    notifications: { received: 0, oldest_received_seconds: null, failed: 0 },
    unanswered: { payments: 0, invoices: 0, subscriptions: 0 },
    load: { event_loop_delay_ms: 0, rejected_requests: 0 },
    ownerless: { paid_payments: 0 },
    checkouts: { paid_twice: 0, paid_late: 0 },
    unrecognized: { payments: 0, examples: [] },
    contradictions: { count: 0, examples: [] },
    missing_notifications: {
      is_detected: false,
      since: null,
      paid_payments: 0,
      without_notification: 0,
      last_notification_at: null,
      likely_reason: null,
      doctor_url: null,
    },
    attention: [],
  });
  assert.deepEqual(
    schedule,
    SCHEDULE.map(({ name, cron }) => ({
      task: name,
      cron,
      status: "never_run",
      started_at: null,
      finished_at: null,
      result: null,
      error: null,
      is_overdue: false,
    })),
  );
});

Deno.test("status: counts jobs by task and state, and shows the error of failed ones", async () => {
  await using watched = await openWatched();
  const { app } = watched;
  const { promise: hanging, resolve: end } = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const tasks = {
    greet: task(() => Promise.reject(new Error("refused Mid-server-abcdefgh12345678")), {
      retries: 0,
    }),
    hang: task(() => {
      started.resolve();
      return hanging;
    }),
    smile: task(() => Promise.resolve()),
  };
  const worker = createWorker({ ...app.service, tasks, maxRunning: 4 });
  const add = async (name: string, minutes: number) => {
    const at = new Date(NOW + minutes * MINUTE_MS);
    const job = newJob({ id: newId(new Date(NOW)), task: name, run_at: at, created_at: at });
    await app.database.query((sql) => insertJobs(sql, [job]));
    return job.id;
  };
  const [firstFailed, lastFailed] = [await add("greet", 0), await add("greet", 0)];
  for (const id of [lastFailed, firstFailed, await add("smile", 0)]) await worker.run(id);
  const running = worker.run(await add("hang", 0));
  await started.promise;
  watched.now += 10 * MINUTE_MS;
  await add("smile", 8);
  await add("smile", 7);
  await add("smile", 60);

  const { jobs } = await watched.status();
  end();
  await running;
  const none = { queued: 0, running: 0, failed: 0 };
  const failure = {
    task: "greet",
    error: "Error: refused Mid-server-[secret]",
    failed_at: new Date(NOW).toISOString(),
  };
  assert.deepEqual(jobs, {
    queued: 3,
    running: 1,
    failed: 2,
    oldest_queued_seconds: 180,
    by_task: [
      { ...none, task: "greet", failed: 2 },
      { ...none, task: "hang", running: 1 },
      { ...none, task: "smile", queued: 3 },
    ],
    last_failures: [{ ...failure, id: lastFailed }, { ...failure, id: firstFailed }],
  });
});

Deno.test("status: shows the last run of each scheduled task, its result, and whether it is overdue", async () => {
  await using watched = await openWatched();
  const { app } = watched;
  const entry = (name: string, run: () => Promise<unknown>) => ({ name, cron: "* * * * *", run });
  const hanging = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  await tick(app.service, entry("sweep_jobs", () => Promise.resolve({ found: 3 })));
  await tick(app.service, entry("prune", () => Promise.reject(new Error("no room"))));
  const slowTick = tick(
    app.service,
    entry("check_pending_payments", () => {
      started.resolve();
      return hanging.promise;
    }),
  );
  await started.promise;
  watched.now += 4 * MINUTE_MS;
  const status = await watched.status();
  hanging.resolve();
  await slowTick;
  const at = new Date(NOW).toISOString();
  assert.deepEqual(entryOf(status, "sweep_jobs"), {
    task: "sweep_jobs",
    cron: "* * * * *",
    status: "succeeded",
    started_at: at,
    finished_at: at,
    result: { found: 3 },
    error: null,
    is_overdue: true,
  });
  const { status: failed, error, result, is_overdue } = entryOf(status, "prune");
  assert.deepEqual([failed, error, result, is_overdue], ["failed", "Error: no room", null, false]);
  const running = entryOf(status, "check_pending_payments");
  assert.deepEqual([running.status, running.finished_at], ["running", null]);
  // For a task that never ran, the time counts from the start of the instance.
  watched.now = NOW + 90 * MINUTE_MS;
  assert.ok((await watched.status()).schedule.every(({ is_overdue }) => is_overdue));
  await tick(app.service, entry("prune", () => Promise.resolve()));
  assert.equal(entryOf(await watched.status(), "prune").is_overdue, false);
});

Deno.test("isOverdue: is true after two missed intervals", () => {
  const after = (cron: string, minutes: number) =>
    isOverdue(cron, new Date(NOW), new Date(NOW + minutes * MINUTE_MS));
  for (
    const [cron, minutes] of [["* * * * *", 1], ["*/5 * * * *", 5], ["7 * * * *", 60]] as const
  ) {
    assert.equal(after(cron, 2 * minutes + 1), false, cron);
    assert.equal(after(cron, 2 * minutes + 2), true, cron);
  }
  assert.throws(() => after("0 3 * * 1", 1), { message: /Unsupported cron expression/ });
  for (const { cron } of SCHEDULE) assert.equal(after(cron, 0), false);
});

Deno.test("status: outbox shows events that a handler has not handled", async () => {
  let now = Date.now();
  const events = createEvents();
  let isBroken = true;
  events.on("payment_received", () => {
    if (isBroken) throw new Error("not now");
  });
  await using payments = await openPayments({ now: () => now, events });
  const { app } = payments;
  const staff = await app.createKey({ isStaff: true });
  await payments.charge();
  now += 30 * MINUTE_MS;
  await payments.charge();
  await runDueJobs(app);
  now += 30 * MINUTE_MS;
  const whileBroken = await statusOf(app, staff);
  assert.deepEqual(whileBroken.outbox, { waiting_deliveries: 2, oldest_event_seconds: 3_600 });
  isBroken = false;
  await runDueJobs(app);
  const { outbox } = await statusOf(app, staff);
  assert.deepEqual(outbox, { waiting_deliveries: 0, oldest_event_seconds: null });
});

Deno.test("status: counts unprocessed and failed notifications, and shows the age of the oldest unprocessed one", async () => {
  await using watched = await openWatched();
  const stored = [[9, "processed"], [8, "failed"], [7, "received"], [3, "received"]] as const;
  for (const [minutes, status] of stored) {
    const at = new Date(NOW - minutes * MINUTE_MS);
    await watched.app.database.query((sql) =>
      sql`
        insert into gateway.notifications (id, order_id, transaction_status, status_code,
          gross_amount, status, raw_payload, created_at)
        values (${newId(at)}, 'order-1', 'settlement', '200', '1.00', ${status}, '{}', ${at})`
    );
  }
  const { notifications } = await watched.status();
  assert.deepEqual(notifications, { received: 2, oldest_received_seconds: 420, failed: 1 });
});

Deno.test("status: counts unknown outcomes and shows the state of the circuit breaker", async () => {
  // This app's gateway URL is not reachable.
  await using watched = await openWatched({ now: undefined });
  const { app } = watched;
  const key = await app.createKey();
  const post = async (path: string, body: unknown) => {
    const headers = { "Content-Type": "application/json" };
    const response = await app.as(key, path, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 502, await response.text());
  };
  const charge = { payment_type: "bank_transfer", bank: "bca", gross_amount: 10_000 };
  await post("/charge/", charge);
  await post("/charge/", charge);
  const [notFound] = await runSql(
    watched.url,
    "select id from gateway.payments order by id limit 1",
  );
  // Simulates that the check at the gateway did not find this payment.
  await runSql(
    watched.url,
    `update gateway.payments set transaction_status = 'failure' where id = '${notFound!.id}'`,
  );
  await post("/invoices/", {
    customer_name: "Siti",
    customer_email: "siti@example.com",
    due_date: new Date(Date.now() + 5 * 24 * 60 * MINUTE_MS).toISOString().slice(0, 10),
    items: [{ description: "Tea", quantity: 1, price: 10_000 }],
  });
  await post("/subscriptions/", {
    name: "tea",
    payment_type: "credit_card",
    token: "521111-1117-saved",
    amount: 10_000,
    interval: 1,
    interval_unit: "month",
  });
  const { unanswered } = await watched.status();
  assert.deepEqual(unanswered, { payments: 1, invoices: 1, subscriptions: 1 });
  await post("/charge/", charge);
  const { gateway } = await watched.status();
  assert.equal(gateway, "down");
});

Deno.test("status: reads a bounded number of rows with 100,000 finished and 24,000 queued jobs", async () => {
  const url = await createDatabase({ isNew: true });
  const at = `'${new Date(NOW).toISOString()}'::timestamptz`;
  let groups = 0;
  const prefix = () => String(++groups).padStart(8, "0");
  const add = (status: string, name: string, count: number) =>
    runSql(
      url,
      `insert into gateway.jobs (id, task, subject_id, payload, status, run_at, created_at, updated_at)
       select id, '${name}', id, '{"sequence": 1}', '${status}', ${at}, ${at}, ${at}
       from generate_series(1, ${count}) n,
         lateral (select ('${prefix()}' || lpad(to_hex(n), 24, '0'))::uuid) ids(id)`,
    );
  const read = async () => {
    let workload: Awaited<ReturnType<typeof readWorkload>>;
    const rows = await rowsRead(url, async (database) => {
      workload = await readWorkload({ database, clock: () => NOW + MINUTE_MS });
    });
    return { rows, workload: workload! };
  };
  await add("succeeded", "greet", 100_000);
  await runSql(
    url,
    `insert into gateway.notifications (id, order_id, transaction_status, status_code, gross_amount,
       status, raw_payload, created_at)
     select gen_random_uuid(), 'order-1', 'settlement', '200', '1.00', 'processed', '{}', ${at}
     from generate_series(1, 20000)`,
  );
  const { rows: idle } = await read();
  assert.ok(idle < 100, `${idle} rows were read`);
  await runSql(url, "analyze");
  const { rows: analyzed } = await read();
  assert.ok(analyzed < 100, `${analyzed} rows were read`);

  await add("queued", "smile", 12_000);
  await add("queued", "deliver books", 12_000);
  await add("failed", "frown", 3);
  const { rows, workload } = await read();
  const waitingJobs = workload.jobs.filter(({ status }) => status === "queued");
  assert.equal(waitingJobs.reduce((sum, { count }) => sum + count, 0), 10_001);
  const failed = workload.jobs.filter(({ status }) => status === "failed");
  assert.deepEqual(failed, [{ task: "frown", status: "failed", count: 3 }]);
  assert.deepEqual(workload.oldestDue, new Date(NOW));
  assert.equal(workload.undelivered.count, 10_001);
  assert.ok(rows < 35_000, `${rows} rows were read`);
});
