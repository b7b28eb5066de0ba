import assert from "node:assert/strict";
import type { OpenJobQueue } from "../../core/jobs/queue.ts";
import { insertJobs } from "../../db/jobs/jobs.ts";
import { runSql } from "../support/database/database.ts";
import { createGate } from "../support/database/gate.ts";
import { openGatedDatabase, type Packet, textOf } from "../support/database/gated_database.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { newJob, openInstance, task } from "../support/jobs/jobs.ts";
import { openQueue, startWorker, type TestQueue, writeJobs } from "../support/jobs/queues.ts";
import { until } from "../support/until.ts";

const OUTAGES = {
  "refuses connections": "cut",
  "stops responding": "silence",
} as const;

function hasSucceeded(queue: TestQueue, id: string): () => Promise<boolean> {
  return async () => (await queue.find(id)).status === "succeeded";
}

for (const [outage, startOutage] of Object.entries(OUTAGES)) {
  Deno.test(`postgres queue: while the database ${outage}, jobs wait; polling alone finds them afterwards`, async () => {
    await using queue = await openQueue("postgres");
    const { proxy, url } = throughProxy(queue.databaseUrl);
    await using _ = proxy;
    await using instance = openInstance({ databaseUrl: url, deadlineMs: 2_000 });
    await using jobQueue = await queue.open({ database: instance.database, listenUrl: null });
    await using _worker = startWorker(instance, jobQueue, {
      tasks: { greet: task(() => Promise.resolve()) },
    });
    await until("the first job is done", hasSucceeded(queue, await queue.insert()));
    proxy[startOutage]();
    const missedJob = await queue.insert();
    await until("the outage is logged", () => instance.logged().includes("queue_interrupted"));
    assert.equal((await queue.find(missedJob)).attempts, 0);
    proxy.restore();
    await until("the waiting job is done", hasSucceeded(queue, missedJob));
    await until("a new job is done", hasSucceeded(queue, await queue.insert()));
  });

  Deno.test(`postgres queue: listens again after the database ${outage}, and wakes the worker`, async () => {
    await using queue = await openQueue("postgres");
    const { proxy, url } = throughProxy(queue.databaseUrl);
    await using _ = proxy;
    proxy[startOutage]();
    await using jobQueue = await queue.open({ listenUrl: url });
    await using _worker = startWorker(queue, jobQueue, {
      tasks: { greet: task(() => Promise.resolve()) },
      isPolling: false,
    });
    const missedJob = await queue.insert();
    const failures = () => queue.logged().match(/"queue_notifications_failed"/g)?.length;
    await until("the failure is logged", () => failures() === 1);
    proxy.restore();
    await until("the waiting job is done", hasSucceeded(queue, missedJob));
    const laterJob = await queue.insert();
    await runSql(queue.databaseUrl, "select pg_notify('gateway_jobs', '')");
    await until("the job of a signal is done", hasSucceeded(queue, laterJob));
    assert.equal(failures(), 1);
    proxy.cut();
  });
}

Deno.test("postgres queue: if a worker is full, another instance is woken and runs the jobs", async () => {
  await using queue = await openQueue("postgres");
  await using fullQueue = await queue.open();
  await using idleQueue = await queue.open();
  const hanging = Promise.withResolvers<void>();
  // Neither polls, so only a signal reaches the idle worker.
  await using fullWorker = startWorker(queue, fullQueue, {
    tasks: { greet: task(() => hanging.promise) },
    maxRunning: 1,
    isPolling: false,
  });
  let isListening = false;
  const runs: string[] = [];
  const startIdle: OpenJobQueue["start"] = (wake) =>
    idleQueue.start(() => {
      isListening = true;
      return wake();
    });
  await using _idleWorker = startWorker(queue, { ...idleQueue, start: startIdle }, {
    tasks: { greet: task(({ id }) => Promise.resolve(void runs.push(id))) },
    isPolling: false,
  });
  await until("the idle instance listens", () => isListening);

  const [runningJob] = await writeJobs(queue, fullQueue, {});
  await until("the worker is full", async () => await fullWorker.wake());
  // The first two are written together, the third while the worker is already full.
  const jobs = await writeJobs(queue, fullQueue, {}, {});
  await until("the idle instance has run them", () => runs.length === 2);
  jobs.push(...await writeJobs(queue, fullQueue, {}));
  await until("the idle instance has run the next one", () => runs.length === 3);
  assert.deepEqual(runs.toSorted(), jobs.toSorted());
  assert.equal((await queue.find(runningJob!)).status, "running");
  hanging.resolve();
});

Deno.test("postgres queue: signals after the commit, never in the transaction of a job", async () => {
  await using queue = await openQueue("postgres");
  const packets: Packet[] = [];
  const statements = createGate<Packet>(() => {});
  const recorded = {
    ...statements,
    pass(packet: Packet) {
      packets.push(packet);
      return statements.pass(packet);
    },
  };
  const results = createGate<Packet>(() => {});
  await using gated = openGatedDatabase(queue.databaseUrl, { statements: recorded, results });
  await using instance = openInstance({ databaseUrl: gated.url });
  const { database } = instance;
  await using jobQueue = await queue.open({ database, listenUrl: null });
  const hanging = Promise.withResolvers<void>();
  await using _worker = startWorker(instance, jobQueue, {
    tasks: { greet: task(() => hanging.promise) },
    maxRunning: 1,
    isPolling: false,
  });
  await until("a signal is sent", async () => {
    const jobs = await database.transaction((sql) => insertJobs(sql, [newJob(), newJob()]));
    for (const job of jobs) jobQueue.enqueue(job);
    return textOf(packets).includes("pg_notify");
  });
  for (const own of Map.groupBy(packets, ({ connection }) => connection).values()) {
    const [before, ...after] = textOf(own).split("pg_notify");
    if (after.length === 0) continue;
    const [begun, committed] = ["begin", "commit"].map((word) => before!.lastIndexOf(word));
    assert.ok(begun === -1 || begun! < committed!, "the last transaction was committed before");
  }
  assert.deepEqual(
    [
      ...await runSql(
        queue.databaseUrl,
        "select tgname from pg_trigger where not tgisinternal and tgrelid = 'gateway.jobs'::regclass",
      ),
    ],
    [],
    "no trigger sends a signal",
  );
  await runSql(queue.databaseUrl, "delete from gateway.jobs where status = 'queued'");
  hanging.resolve();
});

Deno.test("postgres queue: jobs that a stopping instance did not run are run by another instance", async () => {
  await using queue = await openQueue("postgres");
  await using firstQueue = await queue.open();
  const running = Promise.withResolvers<void>();
  const worker = startWorker(queue, firstQueue, {
    tasks: { greet: task(() => running.promise) },
    maxRunning: 1,
  });
  const ids = await writeJobs(queue, firstQueue, {}, {}, {});
  const count = async (status: string) =>
    (await Promise.all(ids.map(queue.find))).filter((job) => job.status === status).length;
  await until("one job is running, the others wait", async () => await count("running") === 1);
  const closed = worker.close(60_000);
  running.resolve();
  await closed;
  assert.equal(await count("succeeded"), 1);

  await using secondQueue = await queue.open();
  await using _otherWorker = startWorker(queue, secondQueue, {
    tasks: { greet: task(() => Promise.resolve()) },
  });
  await until("all jobs have succeeded", async () => await count("succeeded") === 3);
  const jobs = await Promise.all(ids.map(queue.find));
  assert.deepEqual(jobs.map(({ attempts }) => attempts), [1, 1, 1]);
  assert.doesNotMatch(queue.logged(), /queue_interrupted/);
});

Deno.test("queue switch: jobs that were enqueued with the other queue run, each once", async () => {
  await using kv = await openQueue("kv");
  await using kvQueue = await kv.open();
  const ids = await writeJobs(kv, kvQueue, {}, { run_at: new Date(Date.now() + 100) });
  let runs = 0;
  await using postgres = await openQueue("postgres");
  await using jobQueue = await postgres.open({ database: kv.database, listenUrl: kv.databaseUrl });
  await using _worker = startWorker(kv, jobQueue, {
    tasks: { greet: task(() => Promise.resolve(runs++)) },
  });
  for (const id of ids) await until("the job is done", hasSucceeded(kv, id));
  assert.equal(runs, 2);
});
