import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import {
  type EventName,
  PAYMENT_EVENT_NAMES,
  type PaymentEventName,
} from "../../core/events/names.ts";
import { type EventView, listEvents } from "../../core/events/read.ts";
import { createWorker } from "../../core/jobs/worker.ts";
import { prune } from "../../core/tasks/prune.ts";
import { createDeliveryTasks } from "../../core/handlers/deliver.ts";
import { createEvents, type EventHandler, type EventOf } from "../../core/handlers/events.ts";
import { createTasks } from "../../core/tasks/tasks.ts";
import { NO_LOCK } from "../../db/connection/instance_lock.ts";
import { claimJob, handOverJob } from "../../db/jobs/claims.ts";
import { type DueJob, type GatewayJob, insertJobs } from "../../db/jobs/jobs.ts";
import { openApp, type TestApp } from "../support/app.ts";
import { callService } from "../support/client.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { createRollbackDatabase } from "../support/database/held_database.ts";
import { buildNotification, notifyAndRead } from "../support/gateway/notifications.ts";
import { openSandbox, SERVER_KEY } from "../support/gateway/sandbox.ts";
import { endJobLeases, jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import { newJob, task } from "../support/jobs/jobs.ts";
import { manualClock } from "../support/manual_clock.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { PROJECT } from "../support/project.ts";
import { PATIENT, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

const HOUR_MS = 3_600_000;
const STAFF = {
  userId: "ops",
  isStaff: true,
  isViewer: false,
  credential: "api_key",
  keyPrefix: null,
} as const;

/** A handler of all payment events, and the events it got. */
function handleAll(handler: EventHandler<PaymentEventName> = () => {}) {
  const handled: EventOf<PaymentEventName>[] = [];
  const events = createEvents();
  events.on(PAYMENT_EVENT_NAMES, async (event, context) => {
    await handler(event, context);
    handled.push(event);
  }, { as: "test" });
  return { events, handled };
}

function names(events: EventOf[]): string[] {
  return events.map(({ name }) => name.replace("payment_", ""));
}

/** Runs due jobs, and lets hours pass, until no job is left. */
async function runAll(app: TestApp, advance: (ms: number) => void): Promise<void> {
  while (await hasOpenJobs(app)) {
    await runDueJobs(app);
    advance(HOUR_MS);
  }
}

async function hasOpenJobs({ database, publishEvents }: TestApp): Promise<boolean> {
  await publishEvents();
  const open = await database.query((sql) =>
    sql`select from gateway.jobs where status in ('queued', 'running') limit 1`
  );
  return open.length > 0;
}

async function refundPart({ post }: TestPayments, id: string, amount = 1_000): Promise<void> {
  const response = await post(`/payments/${id}/refund/`, { amount });
  assert.equal(response.status, 200, await response.text());
}

Deno.test("handler: gets each event with the resource as it was at the commit, in the format of the API", async () => {
  const { events, handled } = handleAll();
  await using payments = await openPayments({ events });
  const { app } = payments;
  const payment = await payments.charge("gopay");
  const { id } = await notifyAndRead(payments, buildNotification(payment, "settlement"));
  assert.equal(handled.length, 0, "the request itself calls no handler");
  await runDueJobs(app);
  await runDueJobs(app);
  assert.deepEqual(names(handled), ["received", "settled"]);
  assert.deepEqual(
    handled.map(({ data }) => [data.transaction_status, data.is_paid, data.notification_id]),
    [["pending", false, null], ["settlement", true, id]],
  );
  const { notification_id: _, ...settled } = handled[1]!.data;
  assert.deepEqual(settled, await payments.read(payment.id));
  const filter = {
    names: null,
    resourceId: payment.id,
    order: "oldest_first",
    after: null,
    limit: 10,
  } as const;
  let read: EventView[] = [];
  await until("both events are listed", async () => {
    read = (await listEvents(app.service, STAFF, filter)).events;
    return read.length === 2;
  });
  assert.deepEqual(handled, read);
});

Deno.test("handler: an event without a handler creates no job", async () => {
  const events = createEvents();
  const denied: EventOf[] = [];
  events.on("payment_denied", (event) => void denied.push(event));
  await using payments = await openPayments({ events });
  const { id } = await payments.paid();
  assert.deepEqual(await jobsOf(payments.app, id), []);
  assert.deepEqual(denied, []);
});

Deno.test("handlers: each one gets the events that it is registered for", async () => {
  const events = createEvents();
  const messages: string[] = [];
  const on = (names: EventName | EventName[], as?: string) =>
    events.on(names, ({ name }) => void messages.push(`${as ?? "-"} ${name}`), { as });
  on("payment_received");
  on("payment_settled");
  on("payment_settled", "billing");
  on(["payment_received", "payment_settled"], "mail");
  await using payments = await openPayments({ events });
  await payments.paid();
  await runDueJobs(payments.app);
  await runDueJobs(payments.app);
  assert.deepEqual(messages.toSorted(), [
    "- payment_received",
    "- payment_settled",
    "billing payment_settled",
    "mail payment_received",
    "mail payment_settled",
  ]);
});

Deno.test("events.on: rejects an invalid name, a name in use, and any handler after the service has started", async () => {
  const events = createEvents();
  events.on("payment_settled", () => {});
  assert.throws(() => events.on("payment_settled", () => {}), { message: /already/ });
  events.on("payment_settled", () => {}, { as: "billing" });
  assert.throws(() => events.on("payment_denied", () => {}, { as: "billing" }), {
    message: /already/,
  });
  for (const as of ["", "*", "a b", "a".repeat(101)]) {
    assert.throws(() => events.on("payment_denied", () => {}, { as }), {
      message: /not a valid handler name/,
    });
  }
  await using app = await openApp({ databaseUrl: await createDatabase(), events });
  createTasks(app.service, app.handlers);
  assert.throws(() => events.on("payment_denied", () => {}), { message: /before the service/ });
});

Deno.test("handler: if it throws, it is retried with growing delays, and others are not affected", async () => {
  const { now, advance } = manualClock();
  const events = createEvents();
  const calls: string[] = [];
  let isBroken = true;
  events.on(["payment_received", "payment_settled"], ({ name }) => {
    calls.push(name);
    // Throws synchronously, because the handler returns no promise.
    if (isBroken) throw new Error("broken handler");
  }, { as: "broken" });
  const otherCalls: string[] = [];
  events.on(["payment_received", "payment_settled"], ({ name }) => void otherCalls.push(name), {
    as: "other",
  });
  await using payments = await openPayments({ events, now });
  const { app } = payments;
  const { id } = await payments.paid();
  await runDueJobs(app);
  await runDueJobs(app);
  assert.deepEqual(otherCalls, ["payment_received", "payment_settled"]);
  const delays: number[] = [];
  const findWaitingJob = async () =>
    (await jobsOf(app, id)).find(({ task, status }) =>
      task === "deliver broken" && status === "queued"
    );
  for (let job = await findWaitingJob(); delays.length < 15; job = await findWaitingJob()) {
    assert.match(job!.error!, /Error: broken handler/);
    delays.push((job!.run_at.getTime() - now()) / 1_000);
    advance(job!.run_at.getTime() - now());
    await runDueJobs(app);
  }
  const growing = [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560];
  assert.deepEqual(delays, [...growing, 3600, 3600, 3600, 3600, 3600]);
  assert.deepEqual(new Set(calls), new Set(["payment_received"]));
  calls.length = 0;
  isBroken = false;
  await runAll(app, advance);
  assert.deepEqual(calls, ["payment_received", "payment_settled"]);
  assert.deepEqual(otherCalls, ["payment_received", "payment_settled"]);
});

Deno.test("handler: an event that always fails is skipped, and the later events are delivered", async () => {
  const { now, advance } = manualClock();
  let attempts = 0;
  const { events, handled } = handleAll(({ name }) => {
    if (name === "payment_received") throw new Error(`No. ${++attempts}`);
  });
  await using payments = await openPayments({ events, now });
  const { id } = await payments.paid();
  await refundPart(payments, id);
  await runAll(payments.app, advance);
  assert.deepEqual(names(handled), ["settled", "refunded"]);
  const jobs = await jobsOf(payments.app, id);
  const failed = jobs.filter(({ status }) => status === "failed");
  assert.deepEqual([attempts, failed.length, failed[0]!.error], [31, 1, "Error: No. 31"]);
});

Deno.test("handler: an event whose handler crashes every process is skipped, and the later events are delivered", async () => {
  const { now, advance } = manualClock();
  const { events, handled } = handleAll();
  await using payments = await openPayments({ events, now });
  const { app } = payments;
  const { id } = await payments.paid();
  await app.publishEvents();
  await app.database.query((sql) => sql`update gateway.jobs set attempts = 34`);
  await runAll(app, advance);
  assert.deepEqual(names(handled), ["settled"]);
  const [firstJob] = await jobsOf(app, id);
  assert.match(firstJob!.error!, /crashed or lost their lease/);
});

Deno.test("handler: if it exceeds the time limit, it is aborted and retried", async () => {
  const { now, advance } = manualClock();
  const signals: AbortSignal[] = [];
  const { events, handled } = handleAll((_, { signal }) => {
    signals.push(signal);
    if (signals.length === 1) return new Promise(() => {});
  });
  await using payments = await openPayments({ events, now });
  const { app } = payments;
  await payments.charge();
  await until("the delivery is enqueued", () => app.enqueued.length === 1);
  const [{ id }] = app.enqueued as [DueJob];
  const tasks = createDeliveryTasks(app.service, app.handlers, { limitMs: 10 });
  const worker = createWorker({ ...app.service, tasks, maxRunning: 1 });
  await worker.run(id);
  assert.deepEqual([signals[0]!.aborted, handled], [true, []]);
  advance(5_000);
  await worker.run(id);
  assert.deepEqual([signals[1]!.aborted, names(handled)], [false, ["received"]]);
});

Deno.test("handler: may have a time limit of its own", async () => {
  const events = createEvents();
  const signal = Promise.withResolvers<AbortSignal>();
  events.on("payment_received", (_, context) => {
    signal.resolve(context.signal);
    return new Promise(() => {});
  }, { as: "limited", limitMs: 10 });
  await using payments = await openPayments({ events });
  await payments.charge();
  await runDueJobs(payments.app);
  assert.equal((await signal.promise).aborted, true);
});

Deno.test("handler: if it is slow, other handlers, other jobs and requests are not delayed", async () => {
  const slowHandler = Promise.withResolvers<void>();
  const events = createEvents();
  let called = 0;
  events.on("payment_received", async () => {
    called++;
    await slowHandler.promise;
  }, { as: "slow" });
  const quickEvents: EventOf[] = [];
  events.on("payment_received", (event) => void quickEvents.push(event), { as: "quick" });
  await using payments = await openPayments({ events });
  const { app } = payments;
  await Promise.all(Array.from({ length: 12 }, () => payments.charge()));
  await until("all deliveries are enqueued", () => app.enqueued.length === 24);
  let isDone = false;
  const tasks = {
    ...createTasks(app.service, app.handlers),
    greet: task(() => Promise.resolve(isDone = true)),
  };
  const worker = createWorker({ ...app.service, tasks, maxRunning: 1 });
  await app.database.query((sql) => insertJobs(sql, [newJob()]));
  const running = worker.runDue(10 * 60_000);
  try {
    await until("the quick handler has all events", () => quickEvents.length === 12);
    await until("the other job is done", () => isDone);
    await until("as many handlers run as may run at the same time", () => called === 8);
    await payments.charge();
    assert.equal(called, 8, "no more than that");
  } finally {
    slowHandler.resolve();
    await running;
  }
  assert.ok(called >= 12, `${called} calls`);
});

Deno.test("handler: gets no event of a change that was rolled back or lost a race", async () => {
  const { events, handled } = handleAll();
  const { hooks, wrapDatabase } = createRollbackDatabase();
  await using payments = await openPayments({ events, wrapDatabase });
  const { app, sandbox } = payments;
  const { id, transaction_id } = await payments.charge("gopay");
  await runDueJobs(app);
  handled.length = 0;
  await sandbox.control(`transactions/${transaction_id}/pay`);
  let runs = -1;
  hooks.beforeRollback = async () => void (runs = await runDueJobs(app));
  assert.equal((await payments.get(`/payments/${id}/check_status/`)).status, 500);
  assert.equal(runs, 0, "an uncommitted job does not run");
  delete hooks.beforeRollback;
  await runDueJobs(app);
  assert.deepEqual(handled, []);
  await Promise.all(Array.from({ length: 10 }, () => payments.refresh(id)));
  await runDueJobs(app);
  await runDueJobs(app);
  assert.deepEqual(names(handled), ["settled"]);
});

Deno.test("handler: while a delivery fails, later events wait, and none is lost or skipped", async () => {
  const { now, advance } = manualClock();
  let outcome: Promise<void> = Promise.resolve();
  const calls: string[] = [];
  const { events, handled } = handleAll(({ name }) => {
    calls.push(name);
    return outcome;
  });
  await using payments = await openPayments({ events, now });
  const { app, sandbox } = payments;
  const failing = Promise.withResolvers<void>();
  outcome = failing.promise;
  const { id, transaction_id } = await payments.charge("gopay");
  const firstRun = runDueJobs(app);
  await until("the handler is called", () => calls.length === 1);
  await sandbox.control(`transactions/${transaction_id}/pay`);
  await payments.refresh(id);
  // Until the first job ends, each run of the second job is postponed.
  for (let i = 0; i < 3; i++) {
    await runDueJobs(app);
    advance(2_000);
  }
  assert.deepEqual(calls, ["payment_received"]);
  outcome = Promise.resolve();
  failing.reject(new Error("not now"));
  await firstRun;
  await runAll(app, advance);
  assert.deepEqual(names(handled), ["received", "settled"]);
  assert.deepEqual(calls, ["payment_received", "payment_received", "payment_settled"]);
});

/** Claims the job, like a worker that crashes right afterwards. */
async function claimAndCrash({ database, service }: TestApp, job: GatewayJob): Promise<void> {
  const now = new Date(service.clock());
  const claim = { now, leaseMs: 120_000, thisInstance: NO_LOCK };
  assert.ok(await database.query((sql) => claimJob(sql, job.id, claim)));
}

Deno.test("handler: the event that a crashed worker was delivering is delivered before all later events", async () => {
  const { now, advance } = manualClock();
  const { events, handled } = handleAll();
  await using payments = await openPayments({ events, now });
  const { app } = payments;
  const findWaitingJob = async (id: string) =>
    (await jobsOf(app, id)).find(({ status }) => status === "queued")!;
  // One or two workers crash; then another worker runs all jobs, in different orders.
  for (const order of [[0, 1], [1, 0], [0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 0, 1], [2, 1, 0]]) {
    handled.length = 0;
    const { id, transaction_id } = await payments.charge("gopay");
    await claimAndCrash(app, await findWaitingJob(id));
    await payments.sandbox.control(`transactions/${transaction_id}/pay`);
    await payments.refresh(id);
    if (order.length === 3) await claimAndCrash(app, await findWaitingJob(id));
    await refundPart(payments, id);
    await runDueJobs(app);
    assert.deepEqual(handled, [], "an earlier delivery may still be running");
    advance(125_000);
    await endJobLeases(app);
    const jobs = await jobsOf(app, id);
    const worker = createWorker({
      ...app.service,
      tasks: createTasks(app.service, app.handlers),
      maxRunning: 1,
    });
    for (const index of order) await worker.run(jobs[index]!.id);
    await runAll(app, advance);
    assert.deepEqual(names(handled), ["received", "settled", "refunded"], `in the order ${order}`);
  }
});

Deno.test("handler: a delivery job merged from two jobs starts with the earlier event", async () => {
  await using app = await openApp({ databaseUrl: await createDatabase() });
  const { database, service } = app;
  const sequences = async (subject: string) =>
    (await jobsOf(app, subject)).filter(({ status }) => status === "queued")
      .map(({ payload }) => payload.sequence);
  const now = new Date(service.clock());
  const insert = (subject_id: string, sequence: number) => {
    const job = newJob({ task: "deliver test", subject_id, payload: { sequence }, run_at: now });
    return database.query((sql) => insertJobs(sql, [job]));
  };
  const claim = { now, leaseMs: 1_000, thisInstance: NO_LOCK };
  for (const [first, second] of [[1, 2], [2, 1]] as const) {
    const [queuedSubject, claimedSubject] = [randomUUID(), randomUUID()];
    await insert(queuedSubject, first);
    await insert(queuedSubject, second);
    assert.deepEqual(await sequences(queuedSubject), [1]);

    const [{ id }] = await insert(claimedSubject, first) as [DueJob];
    const claimed = await database.query((sql) => claimJob(sql, id, claim));
    assert.equal(await database.query((sql) => handOverJob(sql, claimed!, now)), null);
    const [successor] = await insert(claimedSubject, second) as [DueJob];
    assert.equal(await database.query((sql) => handOverJob(sql, claimed!, now)), successor.id);
    assert.deepEqual(await sequences(claimedSubject), [1]);
    // The job is finished, so it cannot be merged again.
    assert.equal(await database.query((sql) => handOverJob(sql, claimed!, now)), null);
  }
});

Deno.test("handler: two instances with failures deliver the events of each payment in order", async () => {
  const { now, advance } = manualClock();
  const inProgress = new Set<string>();
  const handled = new Map<string, string[]>();
  const violations: string[] = [];
  let calls = 0;
  /** Shared by both instances, like an external system. */
  const handler: EventHandler<PaymentEventName> = async ({ id, name, data }) => {
    if (inProgress.has(data.id)) violations.push(`two at the same time for ${data.id}`);
    inProgress.add(data.id);
    try {
      await new Promise((resolve) => setTimeout(resolve, calls % 3));
      if (calls++ % 3 === 0) throw new Error("every third call fails");
      const messages = handled.get(data.id) ?? [];
      handled.set(data.id, messages);
      messages.push(`${id} ${name}`);
    } finally {
      inProgress.delete(data.id);
    }
  };
  const [first, second] = [handleAll(handler), handleAll(handler)];
  await using payments = await openPayments({ events: first.events, now, poolSize: 8 });
  await using otherInstance = await openApp({
    databaseUrl: payments.databaseUrl,
    gatewayUrl: payments.sandbox.url,
    serverKey: SERVER_KEY,
    events: second.events,
    now,
  });
  let areWritesDone = false;
  const deliveries = (async () => {
    while (!areWritesDone || await hasOpenJobs(otherInstance)) {
      await Promise.all([payments.app, otherInstance].map(runDueJobs));
      // Advances the clock only while no job is running: the lease of a running job could end.
      advance(areWritesDone ? HOUR_MS : 1_000);
    }
  })();
  const ids = await Promise.all(Array.from({ length: 12 }, async () => {
    const { id } = await payments.paid();
    await refundPart(payments, id, 1_000);
    await refundPart(payments, id, 2_000);
    return id;
  }));
  areWritesDone = true;
  await deliveries;
  assert.deepEqual(violations, []);
  for (const id of ids) {
    const stored = await payments.app.database.query((sql) =>
      sql`select id, name from gateway.events where resource_id = ${id} order by sequence`
    );
    assert.equal(stored.length, 4);
    assert.deepEqual(handled.get(id), stored.map(({ id, name }) => `${id} ${name}`));
  }
});

Deno.test("handler: if an instance does not have the handler, the delivery waits for an instance that has it, even after an outage of hours", async () => {
  const { now, advance } = manualClock();
  const { events, handled } = handleAll();
  await using payments = await openPayments({ events, now });
  await using olderInstance = await openApp({ databaseUrl: payments.databaseUrl, now });
  const { id } = await payments.charge();
  await payments.app.publishEvents();
  for (const ms of [0, 60_000, 5 * HOUR_MS]) {
    advance(ms);
    await runDueJobs(olderInstance);
    const [job] = await jobsOf(olderInstance, id);
    assert.deepEqual([job!.status, job!.attempts], ["queued", 0]);
  }
  advance(60_000);
  await runDueJobs(payments.app);
  assert.deepEqual(names(handled), ["received"]);
});

Deno.test("handler: if an instance handles fewer events, the others wait for an instance that has, and none is skipped", async () => {
  const { now, advance } = manualClock();
  const { events, handled } = handleAll();
  await using payments = await openPayments({ events, now });
  const olderEvents = createEvents();
  const older: string[] = [];
  olderEvents.on(["payment_received", "payment_refunded"], ({ name }) => void older.push(name), {
    as: "test",
  });
  await using olderInstance = await openApp({
    databaseUrl: payments.databaseUrl,
    events: olderEvents,
    now,
  });
  const { id } = await payments.paid("gopay");
  await payments.post(`/payments/${id}/refund/`, {});
  await payments.app.publishEvents();
  for (let runs = 0; runs < 4; runs++) {
    await runDueJobs(olderInstance);
    advance(60_000);
  }
  assert.deepEqual(older, ["payment_received"]);
  while (await runDueJobs(payments.app) > 0);
  assert.deepEqual(names(handled), ["settled", "refunded"]);
});

Deno.test("handler: an event that no running instance handles any more is left out", async () => {
  const { now, advance } = manualClock();
  const { events } = handleAll();
  await using payments = await openPayments({ events, now });
  const { id } = await payments.paid("gopay");
  await payments.post(`/payments/${id}/refund/`, {});
  await payments.app.publishEvents();
  const newerEvents = createEvents();
  const newer: string[] = [];
  newerEvents.on(["payment_refunded"], ({ name }) => void newer.push(name), { as: "test" });
  await using newerInstance = await openApp({
    databaseUrl: payments.databaseUrl,
    events: newerEvents,
    now,
  });
  await runDueJobs(newerInstance);
  assert.deepEqual(newer, [], "an older instance may still run");
  advance(10_000);
  await newerInstance.database.query((sql) =>
    sql`update gateway.subscribers set registered_at = now() - interval '1 minute'
      where event_name <> 'payment_refunded'`
  );
  while (await runDueJobs(newerInstance) > 0);
  assert.deepEqual(newer, ["payment_refunded"]);
});

Deno.test("handler: if no instance has had the handler for an hour, its deliveries fail", async () => {
  const { now, advance } = manualClock();
  const { events, handled } = handleAll();
  await using payments = await openPayments({ events, now });
  await using olderInstance = await openApp({ databaseUrl: payments.databaseUrl, now });
  const { id } = await payments.charge();
  await payments.app.publishEvents();
  for (let runs = 0; runs < 7; runs++) await prune(olderInstance.service);
  await runDueJobs(olderInstance);
  const [waitingJob] = await jobsOf(olderInstance, id);
  assert.deepEqual([waitingJob!.status, waitingJob!.attempts], ["queued", 0]);
  await runAll(olderInstance, advance);
  const [failedJob] = await jobsOf(olderInstance, id);
  assert.deepEqual([failedJob!.status, failedJob!.error], [
    "failed",
    'Error: There is no handler "test"',
  ]);
  assert.deepEqual(handled, []);
});

Deno.test("handler: a delivery with many attempts waits while its handler is stopped, and fails only if it was removed", async () => {
  const { now, advance } = manualClock();
  const { events } = handleAll();
  await using payments = await openPayments({ events, now });
  await using olderInstance = await openApp({ databaseUrl: payments.databaseUrl, now });
  const { id } = await payments.charge();
  const runLater = async () => {
    advance(3_600_000);
    await runDueJobs(olderInstance);
    const [job] = await jobsOf(olderInstance, id);
    return [job!.status, job!.attempts, job!.error];
  };
  await payments.app.publishEvents();
  await runSql(payments.databaseUrl, "update gateway.jobs set attempts = 20");
  assert.deepEqual(await runLater(), ["queued", 20, null]);
  for (let runs = 0; runs < 7; runs++) await prune(olderInstance.service);
  assert.deepEqual(await runLater(), ["failed", 21, 'Error: There is no handler "test"']);
});

Deno.test("embedding: a handler gets its event again after a kill -9 of the program", async () => {
  const serverKey = "Mid-server-of-the-embedder";
  const databaseUrl = await createDatabase();
  await using sandbox = await openSandbox({ serverKey });
  await using app = await openApp({ databaseUrl });
  const start = (mode: string) =>
    startService({
      command: [
        Deno.execPath(),
        ...[
          "run",
          "-q",
          "--no-check",
          "-P=test",
          PATIENT,
          "tests/support/events/embedder.ts",
          mode,
        ],
      ],
      cwd: PROJECT,
      settings: {
        HOST: "127.0.0.1",
        DATABASE_URL: databaseUrl,
        GATEWAY_BASE_URL: sandbox.url,
        GATEWAY_SERVER_KEY: serverKey,
      },
    });
  const hanging = await start("hang");
  const response = await callService(`${hanging.url}/charge/`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${await app.createKey()}`,
      "Content-Type": "application/json",
    },
    body: JSON.stringify({ payment_type: "gopay", gross_amount: 10_000 }),
  });
  const { id } = await response.json();
  assert.equal(response.status, 201);
  await until(
    "the event is delivered",
    () => hanging.output().includes(`handling payment_received ${id}`),
  );
  hanging.signal("SIGKILL");
  await hanging.ended;
  await app.database.query((sql) => sql`update gateway.jobs set lease_until = 'epoch'`);
  await using service = await start("respond");
  await until(
    "the event is delivered again",
    () => service.output().includes(`handling payment_received ${id}`),
  );
  await until("no delivery is left", async () => !await hasOpenJobs(app));
});
