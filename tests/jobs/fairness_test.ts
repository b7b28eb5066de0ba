import assert from "node:assert/strict";
import { MAX_BACKGROUND_CALLS } from "../../commands/gateway.ts";
import { MAX_RUNNING_ASYNC_REQUESTS, MAX_RUNNING_JOBS } from "../../commands/jobs.ts";
import type { Queue } from "../../core/config/config.ts";
import { PostponeJob } from "../../core/jobs/task.ts";
import { createWorker } from "../../core/jobs/worker.ts";
import { checkPaymentJob } from "../../core/payments/payment_record.ts";
import { createTasks } from "../../core/tasks/tasks.ts";
import { insertJobs, insertRequest } from "../../db/jobs/jobs.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { buildNotification, notifyAndRead } from "../support/gateway/notifications.ts";
import { nameOf, openRelayed, type RelayedPayments } from "../support/gateway/relay.ts";
import { newKey } from "../support/idempotency.ts";
import { newJob, openInstance, task } from "../support/jobs/jobs.ts";
import { openTestQueue, QUEUES } from "../support/jobs/queues.ts";
import { ASYNC, parseAcceptedJob, rowOf } from "../support/payments/async_requests.ts";
import { createDataFolder } from "../support/project.ts";
import { until } from "../support/until.ts";

/** Many more requests than run at a time. */
const FLOOD = 300;
const AT_A_TIME = 20;

interface Background extends RelayedPayments {
  /** Starts to run jobs. */
  start(): void;
  /** Hands the jobs that the app has enqueued to the queue. */
  enqueue(): void;
  /** Sends an asynchronous charge and returns its job. */
  chargeAsync(orderId: string, key?: string): Promise<string>;
  /** The order ids of charges that reached the gateway, in order. Each waits for `answerOne`. */
  charged: string[];
  /** Lets the gateway answer the oldest waiting charge. */
  answerOne(): void;
}

/** The app with a queue, and a worker with the concurrency limits of the service. */
async function openBackground(queue: Queue): Promise<Background> {
  const databaseUrl = await createDatabase();
  await using resources = new AsyncDisposableStack();
  const payments = resources.use(
    await openRelayed({
      databaseUrl,
      gatewayOptions: { wait: createWaits().wait, maxInFlight: MAX_BACKGROUND_CALLS },
    }),
  );
  const { app: { service, enqueued }, post, relay } = payments;
  const folder = resources.use(await createDataFolder());
  const jobQueue = resources.use(
    await openTestQueue(queue, { ...service, listenUrl: databaseUrl, folder: folder.path }),
  );
  const worker = createWorker({
    ...service,
    tasks: createTasks(service),
    maxRunning: MAX_RUNNING_JOBS,
    maxRequests: MAX_RUNNING_ASYNC_REQUESTS,
  });
  const unanswered: (() => void)[] = [];
  resources.defer(async () => {
    await runSql(databaseUrl, "delete from gateway.jobs where status = 'queued'");
    unanswered.forEach((answer) => answer());
    await worker.close(30_000);
  });
  const background: Background = {
    ...payments,
    charged: [],
    start() {
      worker.start();
      jobQueue.start(worker.wake);
    },
    enqueue: () => enqueued.splice(0).forEach((job) => jobQueue.enqueue(job)),
    async chargeAsync(orderId, key) {
      const body = { payment_type: "gopay", gross_amount: 1_000, order_id: orderId };
      const headers = { ...ASYNC, ...newKey() };
      const { id } = await parseAcceptedJob(await post("/charge/", body, headers, key));
      background.enqueue();
      return id;
    },
    answerOne: () => unanswered.shift()!(),
  };
  const opened = resources.move();
  relay.intercept = async (request, pass) => {
    if (nameOf(request) === "POST /v2/charge") {
      background.charged.push(JSON.parse(request.body).transaction_details.order_id);
      const { promise, resolve } = Promise.withResolvers<void>();
      unanswered.push(resolve);
      await promise;
    }
    return await pass();
  };
  return { ...background, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Sends hundreds of charges as Alice. Waits until the gateway has as many as may run at once. */
async function flood(background: Background): Promise<void> {
  for (let number = 0; number < FLOOD; number += AT_A_TIME) {
    await Promise.all(
      Array.from({ length: AT_A_TIME }, (_, i) => background.chargeAsync(`alice-${number + i}`)),
    );
  }
  background.start();
  await until(
    "charges wait for the gateway",
    () => background.charged.length === MAX_RUNNING_ASYNC_REQUESTS,
  );
}

for (const name of QUEUES) {
  Deno.test(`${name} queue: a user's asynchronous charge starts before ${FLOOD} waiting charges of another user`, async () => {
    await using background = await openBackground(name);
    const { app, charged } = background;
    const bob = await app.createKey({ userId: "bob" });
    await flood(background);
    await background.chargeAsync("bob-0", bob);
    // Alice's next requests are older and have the same turn, if she sent them at the same time.
    const latest = MAX_RUNNING_ASYNC_REQUESTS + AT_A_TIME;
    while (!charged.includes("bob-0")) {
      const before = charged.length;
      assert.ok(before <= latest, `${before} charges began before Bob's`);
      background.answerOne();
      await until("another charge reaches the gateway", () => charged.length > before);
    }
  });

  Deno.test(`${name} queue: recovery work runs while ${FLOOD} asynchronous charges wait for the gateway`, async () => {
    await using background = await openBackground(name);
    const { app, relay, charged } = background;
    const { intercept } = relay;
    relay.intercept = (_request, pass) => pass();
    const payment = await background.paid();
    const otherPayment = await background.charge();
    relay.intercept = intercept;
    await flood(background);

    // The gateway fails now, so the notification is not confirmed at once, but later by a job.
    relay.intercept = () => new Response(null, { status: 500 });
    const notification = await notifyAndRead(
      background,
      buildNotification(payment, "chargeback", { status_code: "200" }),
    );
    relay.intercept = intercept;
    const now = new Date();
    const check = {
      ...checkPaymentJob({ id: otherPayment.id, user_id: "alice" }, now),
      run_at: now,
    };
    await app.database.query((sql) => insertJobs(sql, [check]));
    app.enqueued.push(check);
    background.enqueue();

    const [confirmation] = await runSql(
      background.databaseUrl,
      `select id from gateway.jobs where subject_id = '${notification.id}'`,
    );
    for (const id of [confirmation!.id, check.id]) {
      await until(
        "the job has succeeded",
        async () => (await rowOf(background, id)).status === "succeeded",
      );
    }
    assert.equal(charged.length, MAX_RUNNING_ASYNC_REQUESTS, "no other charge was started");
  });
}

/** The turns of a user's queued requests. */
async function turnsOf(databaseUrl: string, user: string): Promise<number[]> {
  const rows = await runSql(
    databaseUrl,
    `select turn from gateway.jobs where user_id = '${user}' and status = 'queued' order by turn`,
  );
  return rows.map(({ turn }) => turn);
}

Deno.test("async request: gets the turn after the user's last queued request, but at least the lowest queued turn of all users", async () => {
  const databaseUrl = await createDatabase();
  await using instance = openInstance({ databaseUrl });
  const request = (user_id: string) =>
    instance.database.query((sql) => insertRequest(sql, newJob({ user_id })));
  for (const user of ["alice", "alice", "alice", "bob"]) await request(user);
  assert.deepEqual(await turnsOf(databaseUrl, "alice"), [1, 2, 3]);
  assert.deepEqual(await turnsOf(databaseUrl, "bob"), [1]);
  await runSql(databaseUrl, "update gateway.jobs set status = 'succeeded' where turn < 3");
  for (const user of ["bob", "carol", "carol", "alice"]) await request(user);
  assert.deepEqual(await turnsOf(databaseUrl, "alice"), [3, 4]);
  assert.deepEqual(await turnsOf(databaseUrl, "bob"), [3]);
  assert.deepEqual(await turnsOf(databaseUrl, "carol"), [3, 4]);
  await runSql(databaseUrl, "update gateway.jobs set status = 'succeeded'");
  await request("alice");
  assert.deepEqual(await turnsOf(databaseUrl, "alice"), [1]);
  await instance.insert({ user_id: "dave" });
  assert.deepEqual(await turnsOf(databaseUrl, "dave"), [0], "other jobs have no turn");
});

Deno.test("async request: users take turns also among requests that waited for a retry", async () => {
  const databaseUrl = await createDatabase();
  const users: (string | null)[] = [];
  let isPaused = true;
  const tasks = {
    greet: task(({ user_id }) => {
      if (isPaused) throw new PostponeJob(new Date(Date.now() + 3_600_000));
      return Promise.resolve(void users.push(user_id));
    }),
  };
  await using instance = openInstance({ databaseUrl, tasks, maxRunning: 1 });
  const request = async (user_id: string) => {
    const job = newJob({ user_id, run_at: new Date(Date.now() - 1_000) });
    await instance.database.query((sql) => insertRequest(sql, job));
  };
  for (let i = 0; i < 5; i++) await request("alice");
  await request("bob");
  assert.equal(await instance.worker.runDue(60_000), 6);
  assert.deepEqual([await turnsOf(databaseUrl, "alice"), await turnsOf(databaseUrl, "bob")], [
    [0, 0, 0, 0, 0],
    [0],
  ], "postponed requests have no turn");
  isPaused = false;
  await runSql(databaseUrl, "update gateway.jobs set run_at = run_at - interval '2 hours'");
  await request("carol");
  assert.equal(await instance.worker.runDue(60_000), 7);
  assert.deepEqual(users.slice(0, 3).toSorted(), ["alice", "bob", "carol"]);
  assert.deepEqual(users.slice(3), ["alice", "alice", "alice", "alice"]);
});
