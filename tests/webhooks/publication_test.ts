import assert from "node:assert/strict";
import postgres from "postgres";
import { publishWithDeliveries } from "../../core/events/position_publisher.ts";
import { createWorker } from "../../core/jobs/worker.ts";
import { prune } from "../../core/tasks/prune.ts";
import { createEvents } from "../../core/handlers/events.ts";
import { createTasks } from "../../core/tasks/tasks.ts";
import { registerHandlers, removeMissedHandlers } from "../../db/events/handlers.ts";
import { EVENT_NAMES } from "../../core/events/names.ts";
import { openApp } from "../support/app.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { openWebhooks, type TestWebhooks } from "../support/events/webhooks.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import { openPayments } from "../support/payments/payments.ts";
import { until } from "../support/until.ts";

async function countRows({ databaseUrl }: Pick<TestWebhooks, "databaseUrl">) {
  const [row] = await runSql(
    databaseUrl,
    `select (select count(*)::int from gateway.events) as events,
      (select count(*)::int from gateway.published_events) as positions,
      (select count(*)::int from gateway.webhook_deliveries) as deliveries,
      (select count(*)::int from gateway.jobs where starts_with(task, 'deliver ')) as jobs`,
  );
  return { ...row };
}

function eventsWithHandler(received: string[]) {
  const events = createEvents();
  events.on("payment_received", ({ id }) => void received.push(id), { as: "shipping" });
  return events;
}

Deno.test("event publication: a charge writes only the event; its position and its deliveries are written together", async () => {
  const events = eventsWithHandler([]);
  await using webhooks = await openWebhooks({ hasPositionPublisher: false, events });
  await webhooks.endpoint();
  await webhooks.charge();
  assert.deepEqual(await countRows(webhooks), { events: 1, positions: 0, deliveries: 0, jobs: 0 });
  await webhooks.app.publishEvents();
  assert.deepEqual(await countRows(webhooks), { events: 1, positions: 1, deliveries: 1, jobs: 1 });
  await webhooks.app.publishEvents();
  assert.deepEqual(await countRows(webhooks), { events: 1, positions: 1, deliveries: 1, jobs: 1 });
});

Deno.test("event publication: after a failure before the commit, the next publication writes each position and delivery once", async () => {
  const events = eventsWithHandler([]);
  await using webhooks = await openWebhooks({ hasPositionPublisher: false, events });
  await webhooks.endpoint();
  await webhooks.charge();
  const crash = new Error("crash");
  await assert.rejects(
    webhooks.app.database.transaction(async (sql) => {
      const { endpoints, jobs } = await publishWithDeliveries(sql, events);
      assert.deepEqual([endpoints.length, jobs.length], [1, 1]);
      throw crash;
    }),
    crash,
  );
  assert.deepEqual(await countRows(webhooks), { events: 1, positions: 0, deliveries: 0, jobs: 0 });
  await webhooks.app.publishEvents();
  assert.deepEqual(await countRows(webhooks), { events: 1, positions: 1, deliveries: 1, jobs: 1 });
});

Deno.test("event publication: creates deliveries for the endpoints that exist when it runs, disabled ones included", async () => {
  await using webhooks = await openWebhooks({ hasPositionPublisher: false });
  const deleted = await webhooks.endpoint();
  await webhooks.charge();
  const late = await webhooks.endpoint();
  const disabled = await webhooks.endpoint({ enabled: false });
  const other = await webhooks.endpoint({ event_names: ["invoice_paid"] });
  await webhooks.requestAsStaff("DELETE", `/webhook-endpoints/${deleted.id}/`);
  await webhooks.app.publishEvents();
  await webhooks.endpoint();
  await webhooks.app.publishEvents();
  const rows = await runSql(
    webhooks.databaseUrl,
    "select endpoint_id from gateway.webhook_deliveries",
  );
  assert.deepEqual(
    rows.map(({ endpoint_id }) => endpoint_id).sort(),
    [late.id, disabled.id].sort(),
  );
  assert.ok(!rows.some(({ endpoint_id }) => endpoint_id === other.id));
});

Deno.test("event publication: many endpoints make the batches smaller, and each event gets all its deliveries", async () => {
  await using webhooks = await openWebhooks({ hasPositionPublisher: false });
  await webhooks.endpoint();
  await runSql(
    webhooks.databaseUrl,
    `insert into gateway.webhook_endpoints (id, url, secret, created_at, updated_at)
    select gen_random_uuid(), url, secret, created_at, updated_at
    from gateway.webhook_endpoints, generate_series(1, 4000)`,
  );
  for (let i = 0; i < 3; i++) await webhooks.charge();
  const { database } = webhooks.app;
  const publish = () =>
    database.transaction((sql) => publishWithDeliveries(sql, createEvents(), 1_000));
  assert.equal((await publish()).count, 2);
  assert.equal((await publish()).count, 1);
  assert.equal((await countRows(webhooks)).deliveries, 3 * 4_001);
});

Deno.test("event publication: an event goes to the handlers of the instance that wrote it, even if another instance publishes it", async () => {
  const received: string[] = [];
  await using writer = await openPayments({
    hasPositionPublisher: false,
    events: eventsWithHandler(received),
  });
  const { id } = await writer.charge();
  await using publisher = await openApp({ databaseUrl: writer.databaseUrl });
  await publisher.publishEvents();
  assert.equal((await jobsOf(writer.app, id)).length, 1);
  await until("the publishing instance queued the job", () => publisher.enqueued.length === 1);
  await runDueJobs(writer.app);
  await runDueJobs(writer.app);
  const events = await runSql(writer.databaseUrl, "select id from gateway.events");
  assert.deepEqual(received, events.map(({ id }) => id));
});

Deno.test("event publication: an event goes to all registered handlers, even if neither the writer nor the publisher has them", async () => {
  const received: string[] = [];
  await using writer = await openPayments({ hasPositionPublisher: false });
  const { databaseUrl } = writer;
  // Two instances have the same handler, so the event gets one job.
  const registering = { databaseUrl, hasPositionPublisher: false };
  await using first = await openApp({ ...registering, events: eventsWithHandler(received) });
  await using _second = await openApp({ ...registering, events: eventsWithHandler([]) });
  const { id } = await writer.charge();
  await using publisher = await openApp({ databaseUrl });
  await publisher.publishEvents();
  assert.deepEqual((await jobsOf(first, id)).map(({ task }) => task), ["deliver shipping"]);
  await runDueJobs(first);
  const events = await runSql(databaseUrl, "select id from gateway.events");
  assert.deepEqual(received, events.map(({ id }) => id));
});

Deno.test("event publication: an event gets no job for a registered handler of other events", async () => {
  await using writer = await openPayments({ hasPositionPublisher: false });
  const events = createEvents();
  events.on("payment_denied", () => {}, { as: "shipping" });
  await using registering = await openApp({ databaseUrl: writer.databaseUrl, events });
  const { id } = await writer.charge();
  assert.deepEqual(await jobsOf(registering, id), []);
});

Deno.test("event publication: a handler is removed after an hour of prune runs without an instance that has it", async () => {
  await using writer = await openPayments({ hasPositionPublisher: false });
  const { databaseUrl, app } = writer;
  const start = () =>
    openApp({ databaseUrl, hasPositionPublisher: false, events: eventsWithHandler([]) });
  const countJobs = async () => {
    const { id } = await writer.charge();
    return (await jobsOf(app, id)).length;
  };
  const pruneTimes = async (times: number) => {
    for (let runs = 0; runs < times; runs++) await prune(app.service);
  };
  await (await start())[Symbol.asyncDispose]();
  await pruneTimes(6);
  assert.equal(await countJobs(), 1, "the instance may only be restarting");
  await (await start())[Symbol.asyncDispose]();
  await pruneTimes(6);
  assert.equal(await countJobs(), 1, "the hour begins again after each start");
  await pruneTimes(1);
  assert.equal(await countJobs(), 0);
});

Deno.test("event publication: instances that register handlers while prune runs cause no deadlock", async () => {
  const databaseUrl = await createDatabase();
  await using first = await openApp({ databaseUrl });
  await using second = await openApp({ databaseUrl });
  const handled = EVENT_NAMES.map((event_name) => ({ task: "deliver shipping", event_name }));
  // In another order than that of the index, and with rows that updates have moved.
  await first.database.query((sql) => registerHandlers(sql, handled.toReversed()));
  const runs = Array.from(
    { length: 300 },
    (_, index) =>
      index % 3 === 0
        ? second.database.query(removeMissedHandlers)
        : first.database.query((sql) => registerHandlers(sql, handled)),
  );
  await Promise.all(runs);
});

Deno.test("handler: the job of an earlier event does not deliver an event that is not published yet", async () => {
  const received: string[] = [];
  const events = createEvents();
  const names = ["payment_received", "payment_settled"] as const;
  events.on(names, ({ name }) => void received.push(name), { as: "shipping" });
  await using payments = await openPayments({ hasPositionPublisher: false, events });
  const { app } = payments;
  const { id, transaction_id } = await payments.charge("gopay");
  await app.publishEvents();
  await payments.sandbox.control(`transactions/${transaction_id}/pay`);
  await payments.refresh(id);
  // The job of the first event runs while the second one has no position.
  const worker = createWorker({
    ...app.service,
    tasks: createTasks(app.service, app.handlers),
    maxRunning: 1,
  });
  for (let rounds = 0; rounds < 2; rounds++) {
    const jobs = await runSql(
      payments.databaseUrl,
      "select id from gateway.jobs where starts_with(task, 'deliver ') and status = 'queued'",
    );
    for (const job of jobs) await worker.run(job.id);
  }
  assert.deepEqual(received, ["payment_received"]);
  while (await runDueJobs(app) > 0);
  assert.deepEqual(received, ["payment_received", "payment_settled"]);
});

Deno.test("event publisher: an instance that assigns the positions itself sends no signal through the database", async () => {
  await using payments = await openPayments();
  const { app } = payments;
  await payments.charge();
  await app.publishEvents();
  const { waker } = app.service;
  const signals: string[] = [];
  const sql = postgres(payments.databaseUrl, { max: 1, onnotice: () => {} });
  try {
    await sql.listen("gateway_events", (payload) => void signals.push(payload));
    await payments.charge();
    await app.publishEvents();
    await waker[Symbol.asyncDispose]();
    await sql`select 1`;
    assert.deepEqual(signals, []);
  } finally {
    await sql.end();
  }
});
