import assert from "node:assert/strict";
import { sweepJobs } from "../../core/jobs/schedule.ts";
import { openDatabase } from "../../db/database.ts";
import { insertJobs } from "../../db/jobs.ts";
import { QUEUE_SCHEMA, setUpQueue } from "../../db/queue.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { createGate } from "../support/database/gate.ts";
import { openGatedDatabase, type Packet } from "../support/database/gated_database.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { newJob, openInstance, task } from "../support/jobs/jobs.ts";
import { openQueue, startWorker } from "../support/jobs/queues.ts";
import { until } from "../support/until.ts";

/** How many messages the queue has. */
async function countQueued(databaseUrl: string): Promise<number> {
  const [row] = await runSql(
    databaseUrl,
    `select count(*)::int as count from ${QUEUE_SCHEMA}._private_jobs`,
  );
  return row!.count;
}

const OUTAGES = {
  "refuses connections": "cut",
  "stops responding": "silence",
} as const;

for (const [outage, startOutage] of Object.entries(OUTAGES)) {
  Deno.test(`postgres queue: while the database ${outage}, jobs wait; they are delivered afterwards`, async () => {
    await using queue = await openQueue("postgres");
    const { proxy, url } = throughProxy(queue.databaseUrl);
    await using _ = proxy;
    await using jobQueue = await queue.open({ databaseUrl: url });
    const delivered: string[] = [];
    jobQueue.start((id) => Promise.resolve(void delivered.push(id)));
    const earlyJob = await queue.insert();
    await until("the first job is delivered", () => delivered.includes(earlyJob));
    proxy[startOutage]();
    const missedJob = await queue.insert();
    await until("the interruption is logged", () => queue.logged().includes("queue_interrupted"));
    assert.ok(!delivered.includes(missedJob));
    proxy.restore();
    await until("the waiting job is delivered", () => delivered.includes(missedJob));
    const lateJob = await queue.insert();
    await until("a new job is delivered", () => delivered.includes(lateJob));
    const listening = () =>
      runSql(queue.databaseUrl, "select from pg_stat_activity where query like 'LISTEN %'");
    await until(
      "the queue listens for notifications again",
      async () => (await listening()).length > 0,
    );
  });
}

Deno.test("postgres queue: starting waits for an unavailable database, closing does not", async () => {
  await using queue = await openQueue("postgres");
  const { proxy, url } = throughProxy(queue.databaseUrl);
  await using _ = proxy;
  proxy.cut();
  const jobQueue = await queue.open({ databaseUrl: url });
  const delivered: string[] = [];
  jobQueue.start((id) => Promise.resolve(void delivered.push(id)));
  const id = await queue.insert();
  await until("the interruption is logged", () => queue.logged().includes("queue_interrupted"));
  proxy.restore();
  await until("the job is delivered", () => delivered.includes(id));
  proxy.cut();
  await jobQueue[Symbol.asyncDispose]();
});

Deno.test("postgres queue: slow jobs do not delay the jobs behind them", async () => {
  await using queue = await openQueue("postgres");
  await using jobQueue = await queue.open();
  const delivered: string[] = [];
  const slowJob = Promise.withResolvers<void>();
  jobQueue.start((id) => {
    delivered.push(id);
    return slowJob.promise;
  });
  const ids: string[] = [];
  for (let i = 0; i < 100; i++) ids.push(await queue.insert());
  await until("all jobs are delivered", () => delivered.length === ids.length);
  assert.deepEqual(delivered.toSorted(), ids.toSorted());
  slowJob.resolve();
});

Deno.test("postgres queue: jobs that a stopping instance did not run are delivered to another instance", async () => {
  await using queue = await openQueue("postgres");
  await using firstQueue = await queue.open({ slotMs: 60_000 });
  const running = Promise.withResolvers<void>();
  const worker = startWorker(queue, firstQueue, {
    tasks: { greet: task(() => running.promise) },
    maxRunning: 1,
  });
  const ids = await Promise.all([1, 2, 3].map(() => queue.insert()));
  const count = async (status: string) =>
    (await Promise.all(ids.map(queue.find))).filter((job) => job.status === status).length;
  await until("one job is running, the others wait", async () => await count("running") === 1);
  firstQueue.stop();
  const closed = worker.close(60_000);
  running.resolve();
  await closed;
  assert.equal(await count("succeeded"), 1);

  await using secondQueue = await queue.open();
  const otherWorker = startWorker(queue, secondQueue, {
    tasks: { greet: task(() => Promise.resolve()) },
  });
  await until("all jobs have succeeded", async () => await count("succeeded") === 3);
  await otherWorker.close(10_000);
  const jobs = await Promise.all(ids.map(queue.find));
  assert.deepEqual(jobs.map(({ attempts }) => attempts), [1, 1, 1]);
  assert.doesNotMatch(queue.logged(), /queue_interrupted/);
});

Deno.test("postgres queue: a stopping instance returns jobs it accepted and did not start", async () => {
  await using queue = await openQueue("postgres");
  const running = Promise.withResolvers<void>();
  const ids: string[] = [];
  const count = async (status: string) =>
    (await Promise.all(ids.map(queue.find))).filter((job) => job.status === status).length;
  {
    await using firstQueue = await queue.open({ slotMs: 10 });
    const tasks = { greet: task(() => running.promise) };
    const worker = startWorker(queue, firstQueue, { tasks, maxRunning: 1 });
    for (let i = 0; i < 20; i++) ids.push(await queue.insert());
    await until("all messages are taken", async () => await countQueued(queue.databaseUrl) === 0);
    firstQueue.stop();
    const closed = worker.close(60_000);
    running.resolve();
    await closed;
  }
  assert.deepEqual([await count("succeeded"), await countQueued(queue.databaseUrl)], [1, 19]);

  await using secondQueue = await queue.open();
  const otherWorker = startWorker(queue, secondQueue, {
    tasks: { greet: task(() => Promise.resolve()) },
  });
  await until("all jobs have succeeded", async () => await count("succeeded") === 20);
  await otherWorker.close(10_000);
  assert.doesNotMatch(queue.logged(), /queue_interrupted/);
});

Deno.test("postgres queue: messages that cannot be delivered are deleted at the next start", async () => {
  await using queue = await openQueue("postgres");
  await queue.insert({ run_at: new Date(Date.now() + 3_600_000) });
  // Such a message remains if its job is queued again while a worker holds the message, and the
  // worker crashes.
  await runSql(
    queue.databaseUrl,
    `select ${QUEUE_SCHEMA}.add_job('job', '{"job": "x"}');
     update ${QUEUE_SCHEMA}._private_jobs set attempts = max_attempts where key is null`,
  );
  assert.equal(await countQueued(queue.databaseUrl), 2);
  await setUpQueue(queue.databaseUrl, "postgres");
  assert.equal(await countQueued(queue.databaseUrl), 1);
});

Deno.test("postgres queue: a sweep runs a job whose message is locked by a dead worker, and the message does not start the job again", async () => {
  const databaseUrl = await createDatabase();
  await setUpQueue(databaseUrl, "postgres");
  let runs = 0;
  const tasks = { greet: task(() => Promise.resolve(runs++)) };
  await using instance = openInstance({ databaseUrl, tasks });
  const { database, worker } = instance;
  const id = await instance.insert();
  // The queue releases such a message only after four hours.
  await runSql(
    databaseUrl,
    `update ${QUEUE_SCHEMA}._private_jobs set locked_at = now(), locked_by = 'dead worker'`,
  );
  assert.equal(await sweepJobs({ database, clock: Date.now, runJob: worker.run }), 1);
  assert.equal((await instance.find(id)).status, "succeeded");
  await worker.run(id);
  assert.equal(runs, 1);
});

Deno.test("postgres queue: many instances can set up the queue at the same time", async () => {
  for (let round = 0; round < 3; round++) {
    const databaseUrl = await createDatabase();
    await using instance = openInstance({ databaseUrl });
    await Promise.all(Array.from({ length: 6 }, async () => {
      await setUpQueue(databaseUrl, "postgres");
      await instance.insert();
    }));
    assert.equal(await countQueued(databaseUrl), 6);
  }
});

Deno.test("queue switch: every job runs once after switches from kv to postgres and back", async () => {
  const databaseUrl = await createDatabase();
  let runs = 0;
  const tasks = { greet: task(() => Promise.resolve(runs++)) };
  await using instance = openInstance({ databaseUrl, tasks });
  const { database, worker } = instance;
  const sweep = () => sweepJobs({ database, clock: Date.now, runJob: worker.run });
  const kvJob = await instance.insert();
  await setUpQueue(databaseUrl, "postgres");
  const postgresJob = await instance.insert();
  assert.equal(await countQueued(databaseUrl), 1);
  await setUpQueue(databaseUrl, "kv");
  const laterKvJob = await instance.insert();
  assert.equal(await countQueued(databaseUrl), 0, "no message is left behind");
  assert.equal(await sweep(), 3);
  for (const id of [kvJob, postgresJob, laterKvJob]) {
    assert.equal((await instance.find(id)).status, "succeeded");
  }

  await setUpQueue(databaseUrl, "postgres");
  await using queue = await openQueue("postgres");
  await using jobQueue = await queue.open({ databaseUrl });
  jobQueue.start(worker.run);
  const lastJob = await instance.insert();
  await until(
    "the job has succeeded",
    async () => (await instance.find(lastJob)).status === "succeeded",
  );
  await until("the queue is empty", async () => await countQueued(databaseUrl) === 0);
  assert.equal(runs, 4);
});

Deno.test("postgres queue: setup fails for a role that is not a member of the queue's owner; the role can write jobs", async () => {
  await using queue = await openQueue("postgres");
  const url = new URL(queue.databaseUrl);
  const role = `limited_${url.pathname.slice(-8)}`;
  await runSql(
    url.href,
    `create role ${role} login password 'x';
     grant usage on schema gateway to ${role};
     grant select, insert, update, delete on all tables in schema gateway to ${role}`,
  );
  const roleUrl = Object.assign(new URL(url), { username: role, password: "x" }).href;
  const setUp = () => setUpQueue(roleUrl, "postgres");
  await assert.rejects(setUp, { code: "42501", message: /schema gateway_worker/ });
  await runSql(
    url.href,
    `grant usage on schema ${QUEUE_SCHEMA} to ${role};
     grant select, insert, update, delete on all tables in schema ${QUEUE_SCHEMA} to ${role}`,
  );
  await assert.rejects(setUp, {
    name: "QueueRefused",
    message: /belongs to another database role/,
  });
  // The role can still write jobs: the trigger runs with the rights of its owner.
  await using writer = openInstance({ databaseUrl: roleUrl });
  await writer.insert();
  assert.equal(await countQueued(url.href), 1);

  await runSql(url.href, `grant ${url.username} to ${role}`);
  await setUp();
});

Deno.test("postgres queue: the statement that inserts a job also enqueues it, in the same transaction", async () => {
  await using queue = await openQueue("postgres");
  const countPackets = async () => {
    let packets = 0;
    const statements = createGate<Packet>(() => packets++);
    const results = createGate<Packet>(() => {});
    await using gatedDatabase = openGatedDatabase(queue.databaseUrl, { statements, results });
    const database = openDatabase({ url: gatedDatabase.url, poolSize: 1 });
    // In the first round the driver also prepares the statement, so only the second is counted.
    for (let i = 0; i < 2; i++) {
      packets = 0;
      await database.transaction((sql) => insertJobs(sql, [newJob(), newJob()]));
    }
    await database.close();
    return packets;
  };
  const before = await countQueued(queue.databaseUrl);
  const withQueue = await countPackets();
  assert.equal(await countQueued(queue.databaseUrl), before + 4);
  await setUpQueue(queue.databaseUrl, "kv");
  assert.equal(withQueue, await countPackets());
});

Deno.test("postgres queue: ignores messages of an unknown format", async () => {
  await using queue = await openQueue("postgres");
  for (const payload of ["[]", '{"job": 7}', "null", "{}"]) {
    await runSql(queue.databaseUrl, `select ${QUEUE_SCHEMA}.add_job('job', '${payload}')`);
  }
  await using jobQueue = await queue.open();
  const delivered: string[] = [];
  jobQueue.start((id) => Promise.resolve(void delivered.push(id)));
  const validJob = await queue.insert();
  await until("the valid job is delivered", () => delivered.length > 0);
  await until("the queue is empty", async () => await countQueued(queue.databaseUrl) === 0);
  assert.deepEqual(delivered, [validJob]);
});
