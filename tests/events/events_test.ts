import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createDeliveries } from "../../core/events/deliver.ts";
import { createEvents, type EventHandler, type EventName } from "../../core/events/hub.ts";
import { listEvents } from "../../core/events/read.ts";
import type { EventView } from "../../core/events/views.ts";
import { createWorker } from "../../core/jobs/worker.ts";
import { PAYMENT_EVENT_NAMES, type PaymentEventName } from "../../core/payments/states.ts";
import { createTasks } from "../../core/tasks.ts";
import { claimJob, type DueJob, type GatewayJob, handOverJob, insertJobs } from "../../db/jobs.ts";
import { openApp, type TestApp } from "../support/app.ts";
import { askService } from "../support/client.ts";
import { createDatabase } from "../support/database/database.ts";
import { createUndoing } from "../support/database/held_database.ts";
import { notified, telling } from "../support/gateway/notifications.ts";
import { openSandbox, SERVER_KEY } from "../support/gateway/sandbox.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import { newJob, task } from "../support/jobs/jobs.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { PROJECT } from "../support/project.ts";
import { startService } from "../support/service.ts";
import { standingClock } from "../support/standing_clock.ts";
import { until } from "../support/until.ts";

const HOUR_MS = 3_600_000;
const STAFF = { userId: "ops", isStaff: true, credential: "api_key", keyPrefix: null } as const;

/** Somebody who listens to everything, and what he was told. */
function listening(handler: EventHandler<PaymentEventName> = () => {}) {
  const heard: EventView<PaymentEventName>[] = [];
  const events = createEvents();
  events.on(PAYMENT_EVENT_NAMES, async (event, context) => {
    await handler(event, context);
    heard.push(event);
  }, { as: "test" });
  return { events, heard };
}

function names(events: EventView[]): string[] {
  return events.map(({ name }) => name.replace("payment_", ""));
}

/** Runs what is due, and what comes of it; hours pass until there is nothing more to do. */
async function runAll(app: TestApp, pass: (ms: number) => void): Promise<void> {
  while (await isOpen(app)) {
    await runDueJobs(app);
    pass(HOUR_MS);
  }
}

async function isOpen({ database }: TestApp): Promise<boolean> {
  const open = await database.query((sql) =>
    sql`select from gateway.jobs where status in ('queued', 'running') limit 1`
  );
  return open.length > 0;
}

async function refundPart({ post }: TestPayments, id: string, amount = 1_000): Promise<void> {
  const response = await post(`/payments/${id}/refund/`, { amount });
  assert.equal(response.status, 200, await response.text());
}

Deno.test("those who listen get what happened, as it was at commit and as it is read", async () => {
  const { events, heard } = listening();
  await using payments = await openPayments({ events });
  const { app } = payments;
  const payment = await payments.charge("gopay");
  const { id } = await notified(payments, telling(payment, "settlement"));
  assert.equal(heard.length, 0, "nothing is told by the request itself");
  await runDueJobs(app);
  await runDueJobs(app);
  assert.deepEqual(names(heard), ["received", "settled"]);
  assert.deepEqual(
    heard.map(({ data }) => [data.transaction_status, data.is_paid, data.notification_id]),
    [["pending", false, null], ["settlement", true, id]],
  );
  const { notification_id: _, ...settled } = heard[1]!.data;
  assert.deepEqual(settled, await payments.read(payment.id));
  const filter = {
    name: null,
    resourceId: payment.id,
    order: "oldest_first",
    before: null,
    limit: 10,
  } as const;
  let read: EventView[] = [];
  await until("they can be read", async () => {
    read = (await listEvents(app.deps, STAFF, filter)).events;
    return read.length === 2;
  });
  assert.deepEqual(heard, read);
});

Deno.test("where nobody listens nothing is written, and to other names nobody does", async () => {
  const events = createEvents();
  const denied: EventView[] = [];
  events.on("payment_denied", (event) => void denied.push(event));
  await using payments = await openPayments({ events });
  const { id } = await payments.paid();
  assert.deepEqual(await jobsOf(payments.app, id), []);
  assert.deepEqual(denied, []);
});

Deno.test("several listen to several names, each for itself", async () => {
  const events = createEvents();
  const told: string[] = [];
  const on = (names: EventName | EventName[], as?: string) =>
    events.on(names, ({ name }) => void told.push(`${as ?? "-"} ${name}`), { as });
  on("payment_received");
  on("payment_settled");
  on("payment_settled", "billing");
  on(["payment_received", "payment_settled"], "mail");
  await using payments = await openPayments({ events });
  await payments.paid();
  await runDueJobs(payments.app);
  await runDueJobs(payments.app);
  assert.deepEqual(told.toSorted(), [
    "- payment_received",
    "- payment_settled",
    "billing payment_settled",
    "mail payment_received",
    "mail payment_settled",
  ]);
});

Deno.test("a subscriber has a name of its own, and comes before the service runs", async () => {
  const events = createEvents();
  events.on("payment_settled", () => {});
  assert.throws(() => events.on("payment_settled", () => {}), { message: /already/ });
  events.on("payment_settled", () => {}, { as: "billing" });
  assert.throws(() => events.on("payment_denied", () => {}, { as: "billing" }), {
    message: /already/,
  });
  for (const as of ["", "*", "a b", "a".repeat(101)]) {
    assert.throws(() => events.on("payment_denied", () => {}, { as }), { message: /no name/ });
  }
  await using app = await openApp({ databaseUrl: await createDatabase(), events });
  createTasks(app.deps);
  assert.throws(() => events.on("payment_denied", () => {}), { message: /before the service/ });
});

Deno.test("one that throws is called again, ever later, and nobody else notices", async () => {
  const { now, pass } = standingClock();
  const events = createEvents();
  const calls: string[] = [];
  let isBroken = true;
  events.on(["payment_received", "payment_settled"], ({ name }) => {
    calls.push(name);
    // Not even a promise.
    if (isBroken) throw new Error("out of order");
  }, { as: "broken" });
  const others: string[] = [];
  events.on(["payment_received", "payment_settled"], ({ name }) => void others.push(name), {
    as: "other",
  });
  await using payments = await openPayments({ events, now });
  const { app } = payments;
  const { id } = await payments.paid();
  await runDueJobs(app);
  await runDueJobs(app);
  assert.deepEqual(others, ["payment_received", "payment_settled"]);
  const delays: number[] = [];
  const waiting = async () =>
    (await jobsOf(app, id)).find(({ task, status }) =>
      task === "deliver broken" && status === "queued"
    );
  for (let job = await waiting(); delays.length < 15; job = await waiting()) {
    assert.match(job!.error!, /Error: out of order/);
    delays.push((job!.run_at.getTime() - now()) / 1_000);
    pass(job!.run_at.getTime() - now());
    await runDueJobs(app);
  }
  const growing = [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560];
  assert.deepEqual(delays, [...growing, 3600, 3600, 3600, 3600, 3600]);
  assert.deepEqual(new Set(calls), new Set(["payment_received"]));
  calls.length = 0;
  isBroken = false;
  await runAll(app, pass);
  assert.deepEqual(calls, ["payment_received", "payment_settled"]);
  assert.deepEqual(others, ["payment_received", "payment_settled"]);
});

Deno.test("what can never be handled is given up in the end, and what came after it is told", async () => {
  const { now, pass } = standingClock();
  let attempts = 0;
  const { events, heard } = listening(({ name }) => {
    if (name === "payment_received") throw new Error(`No. ${++attempts}`);
  });
  await using payments = await openPayments({ events, now });
  const { id } = await payments.paid();
  await refundPart(payments, id);
  await runAll(payments.app, pass);
  assert.deepEqual(names(heard), ["settled", "refunded"]);
  const jobs = await jobsOf(payments.app, id);
  const failed = jobs.filter(({ status }) => status === "failed");
  assert.deepEqual([attempts, failed.length, failed[0]!.error], [31, 1, "Error: No. 31"]);
});

Deno.test("one that ends every process it is called in is given up, and what came after is told", async () => {
  const { now, pass } = standingClock();
  const { events, heard } = listening();
  await using payments = await openPayments({ events, now });
  const { app } = payments;
  const { id } = await payments.paid();
  await app.database.query((sql) => sql`update gateway.jobs set attempts = 34`);
  await runAll(app, pass);
  assert.deepEqual(names(heard), ["settled"]);
  const [first] = await jobsOf(app, id);
  assert.match(first!.error!, /None of its workers came back/);
});

Deno.test("one that takes too long is told to stop, and called again", async () => {
  const { now, pass } = standingClock();
  const signals: AbortSignal[] = [];
  const { events, heard } = listening((_, { signal }) => {
    signals.push(signal);
    if (signals.length === 1) return new Promise(() => {});
  });
  await using payments = await openPayments({ events, now });
  const { app } = payments;
  await payments.charge();
  const [{ id }] = app.carried as [DueJob];
  const tasks = createDeliveries(app.deps, { limitMs: 10 });
  const worker = createWorker({ ...app.deps, tasks, maxRunning: 1 });
  await worker.run(id);
  assert.deepEqual([signals[0]!.aborted, heard], [true, []]);
  pass(5_000);
  await worker.run(id);
  assert.deepEqual([signals[1]!.aborted, names(heard)], [false, ["received"]]);
});

Deno.test("a slow one holds up neither others, nor other jobs, nor requests", async () => {
  const slow = Promise.withResolvers<void>();
  const events = createEvents();
  let called = 0;
  events.on("payment_received", async () => {
    called++;
    await slow.promise;
  }, { as: "slow" });
  const quick: EventView[] = [];
  events.on("payment_received", (event) => void quick.push(event), { as: "quick" });
  await using payments = await openPayments({ events });
  const { app } = payments;
  await Promise.all(Array.from({ length: 12 }, () => payments.charge()));
  let isDone = false;
  const tasks = {
    ...createTasks(app.deps),
    greet: task(() => Promise.resolve(isDone = true)),
  };
  const worker = createWorker({ ...app.deps, tasks, maxRunning: 1 });
  const runs = app.carried.map(({ id }) => worker.run(id));
  const job = newJob();
  await app.database.query((sql) => insertJobs(sql, [job]));
  runs.push(worker.run(job.id));
  try {
    await until("the quick one has all", () => quick.length === 12);
    await until("the other job is done", () => isDone);
    assert.equal(called, 8, "as many as there are places");
    await payments.charge();
  } finally {
    slow.resolve();
    await Promise.all(runs);
  }
  assert.equal(called, 12);
});

Deno.test("a change that is rolled back is never told, nor is one that came too late", async () => {
  const { events, heard } = listening();
  const { atWork, wrapDatabase } = createUndoing();
  await using payments = await openPayments({ events, wrapDatabase });
  const { app, sandbox } = payments;
  const { id, transaction_id } = await payments.charge("gopay");
  await runDueJobs(app);
  heard.length = 0;
  await sandbox.control(`transactions/${transaction_id}/pay`);
  let runs = -1;
  atWork.during = async () => void (runs = await runDueJobs(app));
  assert.equal((await payments.get(`/payments/${id}/check_status/`)).status, 500);
  assert.equal(runs, 0, "what is not committed is nobody's to run");
  delete atWork.during;
  await runDueJobs(app);
  assert.deepEqual(heard, []);
  await Promise.all(Array.from({ length: 10 }, () => payments.refresh(id)));
  await runDueJobs(app);
  await runDueJobs(app);
  assert.deepEqual(names(heard), ["settled"]);
});

Deno.test("what happens while a subscriber fails waits its turn: nothing is lost or passed over", async () => {
  const { now, pass } = standingClock();
  let outcome: Promise<void> = Promise.resolve();
  const calls: string[] = [];
  const { events, heard } = listening(({ name }) => {
    calls.push(name);
    return outcome;
  });
  await using payments = await openPayments({ events, now });
  const { app, sandbox } = payments;
  const failing = Promise.withResolvers<void>();
  outcome = failing.promise;
  const { id, transaction_id } = await payments.charge("gopay");
  const first = runDueJobs(app);
  await until("it is called", () => calls.length === 1);
  await sandbox.control(`transactions/${transaction_id}/pay`);
  await payments.refresh(id);
  // Of two at once, the later one steps back, however often it is run.
  for (let i = 0; i < 3; i++) {
    await runDueJobs(app);
    pass(2_000);
  }
  assert.deepEqual(calls, ["payment_received"]);
  outcome = Promise.resolve();
  failing.reject(new Error("not now"));
  await first;
  await runAll(app, pass);
  assert.deepEqual(names(heard), ["received", "settled"]);
  assert.deepEqual(calls, ["payment_received", "payment_received", "payment_settled"]);
});

/** As a worker that is killed right after it took the job. */
async function takeAndDie({ database, deps }: TestApp, job: GatewayJob): Promise<void> {
  const now = new Date(deps.clock());
  const times = { now, dueBy: now, leaseUntil: new Date(now.getTime() + 120_000) };
  assert.ok(await database.query((sql) => claimJob(sql, job.id, times)));
}

Deno.test("what a dead worker was at is told by the next, before all that came after", async () => {
  const { now, pass } = standingClock();
  const { events, heard } = listening();
  await using payments = await openPayments({ events, now });
  const { app } = payments;
  const waiting = async (id: string) =>
    (await jobsOf(app, id)).find(({ status }) => status === "queued")!;
  // One worker dies, or two; and then a sweep brings their jobs in whichever order.
  for (const order of [[0, 1], [1, 0], [0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 0, 1], [2, 1, 0]]) {
    heard.length = 0;
    const { id, transaction_id } = await payments.charge("gopay");
    await takeAndDie(app, await waiting(id));
    await payments.sandbox.control(`transactions/${transaction_id}/pay`);
    await payments.refresh(id);
    if (order.length === 3) await takeAndDie(app, await waiting(id));
    await refundPart(payments, id);
    await runDueJobs(app);
    assert.deepEqual(heard, [], "the one before is not known to be over");
    pass(125_000);
    const jobs = await jobsOf(app, id);
    const worker = createWorker({ ...app.deps, tasks: createTasks(app.deps), maxRunning: 1 });
    for (const index of order) await worker.run(jobs[index]!.id);
    await runAll(app, pass);
    assert.deepEqual(names(heard), ["received", "settled", "refunded"], `in the order ${order}`);
  }
});

Deno.test("where two deliveries become one, it begins where the earlier does", async () => {
  await using app = await openApp({ databaseUrl: await createDatabase() });
  const { database, deps } = app;
  const sequences = async (subject: string) =>
    (await jobsOf(app, subject)).filter(({ status }) => status === "queued")
      .map(({ payload }) => payload.sequence);
  const now = new Date(deps.clock());
  const insert = (subject_id: string, sequence: number) => {
    const job = newJob({ task: "deliver test", subject_id, payload: { sequence }, run_at: now });
    return database.query((sql) => insertJobs(sql, [job]));
  };
  const times = { now, dueBy: now, leaseUntil: new Date(now.getTime() + 1_000) };
  for (const [first, second] of [[1, 2], [2, 1]] as const) {
    const [waiting, taken] = [randomUUID(), randomUUID()];
    await insert(waiting, first);
    await insert(waiting, second);
    assert.deepEqual(await sequences(waiting), [1]);

    const [{ id }] = await insert(taken, first) as [DueJob];
    const held = await database.query((sql) => claimJob(sql, id, times));
    assert.equal(await database.query((sql) => handOverJob(sql, held!, now)), null);
    const [heir] = await insert(taken, second) as [DueJob];
    assert.equal(await database.query((sql) => handOverJob(sql, held!, now)), heir.id);
    assert.deepEqual(await sequences(taken), [1]);
    // Whoever has no hold of it any more has nothing to hand over.
    assert.equal(await database.query((sql) => handOverJob(sql, held!, now)), null);
  }
});

Deno.test("two instances, many payments, failures: each payment's events come in their order", async () => {
  const { now, pass } = standingClock();
  const underWay = new Set<string>();
  const heard = new Map<string, string[]>();
  const broken: string[] = [];
  let turn = 0;
  /** What both instances have in common is the world they act upon. */
  const handler: EventHandler<PaymentEventName> = async ({ id, name, data }) => {
    if (underWay.has(data.id)) broken.push(`two at once for ${data.id}`);
    underWay.add(data.id);
    try {
      await new Promise((resolve) => setTimeout(resolve, turn % 3));
      if (turn++ % 3 === 0) throw new Error("one of those days");
      const told = heard.get(data.id) ?? [];
      heard.set(data.id, told);
      told.push(`${id} ${name}`);
    } finally {
      underWay.delete(data.id);
    }
  };
  const [one, other] = [listening(handler), listening(handler)];
  await using payments = await openPayments({ events: one.events, now, poolSize: 8 });
  await using second = await openApp({
    databaseUrl: payments.databaseUrl,
    gatewayUrl: payments.sandbox.url,
    serverKey: SERVER_KEY,
    events: other.events,
    now,
  });
  let isOver = false;
  const deliveries = (async () => {
    while (!isOver || await isOpen(second)) {
      await Promise.all([payments.app, second].map(runDueJobs));
      // Not while anybody is at work, whose lease would be over.
      pass(isOver ? HOUR_MS : 1_000);
    }
  })();
  const ids = await Promise.all(Array.from({ length: 12 }, async () => {
    const { id } = await payments.paid();
    await refundPart(payments, id, 1_000);
    await refundPart(payments, id, 2_000);
    return id;
  }));
  isOver = true;
  await deliveries;
  assert.deepEqual(broken, []);
  for (const id of ids) {
    const stored = await payments.app.database.query((sql) =>
      sql`select id, name from gateway.events where resource_id = ${id} order by sequence`
    );
    assert.equal(stored.length, 4);
    assert.deepEqual(heard.get(id), stored.map(({ id, name }) => `${id} ${name}`));
  }
});

Deno.test("a subscriber that is gone: its jobs wait for another instance that has it, and then end", async () => {
  const { now, pass } = standingClock();
  const { events, heard } = listening();
  await using payments = await openPayments({ events, now });
  await using older = await openApp({ databaseUrl: payments.databaseUrl, now });
  const first = await payments.charge();
  await runDueJobs(older);
  const [job] = await jobsOf(older, first.id);
  assert.deepEqual([job!.status, job!.attempts], ["queued", 0]);
  pass(60_000);
  await runDueJobs(payments.app);
  assert.deepEqual(names(heard), ["received"]);

  const second = await payments.charge();
  await runAll(older, pass);
  const [lost] = await jobsOf(older, second.id);
  assert.deepEqual([lost!.status, lost!.error], ["failed", 'Error: Nobody listens as "test"']);
  assert.equal(heard.length, 1);
});

Deno.test("who embeds the service subscribes before running it; after a kill -9 it is told still", async () => {
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
          "--no-lock",
          "--no-check",
          "-P=test",
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
  const response = await askService(`${hanging.url}/charge/`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${await app.createKey()}`,
      "Content-Type": "application/json",
    },
    body: JSON.stringify({ payment_type: "gopay", gross_amount: 10_000 }),
  });
  const { id } = await response.json();
  assert.equal(response.status, 201);
  await until("it is told", () => hanging.output().includes(`told payment_received ${id}`));
  hanging.signal("SIGKILL");
  await hanging.ended;
  await app.database.query((sql) => sql`update gateway.jobs set lease_until = 'epoch'`);
  await using service = await start("answer");
  await until("it is told again", () => service.output().includes(`told payment_received ${id}`));
  await until("that was it", async () => !await isOpen(app));
});
