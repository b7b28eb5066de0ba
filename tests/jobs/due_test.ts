import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { firstIdAt } from "../../core/ids.ts";
import { sweepJobs } from "../../core/jobs/schedule.ts";
import { newJob as newOutboxJob } from "../../core/outbox.ts";
import type { Database } from "../../db/database.ts";
import { listDueJobs } from "../../db/job_queries.ts";
import { insertJobs, JOB_RANKS, type NewJob } from "../../db/jobs.ts";
import { QUEUE_SCHEMA } from "../../db/queue.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { rowsRead } from "../support/database/rows_read.ts";
import { type Instance, newJob, openInstance, task } from "../support/jobs/jobs.ts";
import { openQueue, QUEUES, startWorker, type TestQueue } from "../support/jobs/queues.ts";
import { until } from "../support/until.ts";

function newJobs(count: number, job: Partial<NewJob>): NewJob[] {
  return Array.from({ length: count }, () => newJob(job));
}

async function rankOf(databaseUrl: string, id: string): Promise<number> {
  const [row] = await runSql(databaseUrl, `select rank from gateway.jobs where id = '${id}'`);
  return row!.rank;
}

/** Runs a sweep and returns the jobs that it finds; none of them is run. */
async function sweep(database: Database): Promise<string[]> {
  const found: string[] = [];
  const deliver = (id: string) => Promise.resolve(void found.push(id));
  await sweepJobs({ database, clock: Date.now, runJob: deliver });
  return found;
}

/** How many messages the queue has. */
async function countQueued({ databaseUrl }: TestQueue): Promise<number> {
  return (await runSql(databaseUrl, `select from ${QUEUE_SCHEMA}._private_jobs`)).length;
}

for (const name of QUEUES) {
  Deno.test(`${name} queue: hundreds of queued checks do not delay a job that a caller waits for`, async () => {
    await using queue = await openQueue(name);
    await using jobQueue = await queue.open();
    const slowChecks = Promise.withResolvers<void>();
    let [started, finished] = [0, 0];
    const check = async () => {
      started++;
      await slowChecks.promise;
      finished++;
    };
    const worker = startWorker(queue, jobQueue, {
      tasks: { check: task(check), greet: task(() => Promise.resolve()) },
    });
    const write = async (...jobs: NewJob[]) => {
      const written = await queue.database.query((sql) => insertJobs(sql, jobs));
      for (const job of written) jobQueue.enqueue(job);
    };
    await write(...newJobs(500, { task: "check", rank: JOB_RANKS.check }));
    await until("the checks are running", () => started > 1);
    const awaited = newJob();
    await write(awaited);
    await until(
      "the awaited job has succeeded",
      async () => (await queue.find(awaited.id)).status === "succeeded",
    );
    assert.deepEqual([started, finished], [4, 0], "four checks run at the same time");
    const isPostgres = name === "postgres";
    if (isPostgres) {
      assert.ok(await countQueued(queue) > 100, "the queue delivered it before the checks");
    }
    slowChecks.resolve();
    await runSql(queue.databaseUrl, "delete from gateway.jobs where status = 'queued'");
    if (isPostgres) await until("the queue is empty", async () => await countQueued(queue) === 0);
    await worker.close(10_000);
  });
}

Deno.test("job rank: two merged jobs get the rank of the more urgent one", async () => {
  const databaseUrl = await createDatabase();
  const hanging = Promise.withResolvers<void>();
  const tasks = { greet: task(() => hanging.promise, { firstDelayMs: 0 }) };
  await using instance = openInstance({ databaseUrl, tasks });
  const { check, awaited } = JOB_RANKS;
  for (const ranks of [[check, awaited], [awaited, check], [check, undefined], [check, check]]) {
    const subject_id = randomUUID();
    const [firstJob, secondJob] = ranks.map((rank) => newJob({ subject_id, rank }));
    const id = await instance.insert(firstJob);
    await instance.insert(secondJob);
    assert.equal(await rankOf(databaseUrl, id), Math.min(...ranks.map((rank) => rank ?? 0)));
  }

  // The same holds if a running job is merged into a job that was queued during its run.
  const subject_id = randomUUID();
  const heldJob = await instance.insert({ subject_id, rank: awaited });
  const run = instance.worker.run(heldJob);
  await until(
    "the job is running",
    async () => (await instance.find(heldJob)).status === "running",
  );
  const successor = await instance.insert({ subject_id, rank: check });
  hanging.reject(new Error("not yet"));
  await run;
  assert.deepEqual((await instance.find(heldJob)).result, { continued_by: successor });
  assert.equal(await rankOf(databaseUrl, successor), awaited);
});

Deno.test("sweep: runs all due jobs of every rank, each once", async () => {
  const databaseUrl = await createDatabase();
  const tasks = { greet: task(() => Promise.resolve()) };
  await using instance = openInstance({ databaseUrl, tasks });
  const { database, worker } = instance;
  const ranks = Object.values(JOB_RANKS);
  for (const rank of ranks) {
    await database.query((sql) => insertJobs(sql, newJobs(600, { rank, run_at: new Date(0) })));
  }
  const found = await sweep(database);
  assert.equal(
    found.length,
    ranks.length * 500,
    "one batch of each rank is found if no job is run",
  );
  assert.equal(new Set(found).size, found.length);
  assert.equal(await sweepJobs({ database, clock: Date.now, runJob: worker.run }), 1_800);
  const [{ count }] = await database.query((sql) =>
    sql<[{ count: number }]>`
      select count(*)::int as count from gateway.jobs where status = 'succeeded'`
  );
  assert.equal(count, 1_800);
});

Deno.test("sweep: if one rank cannot be listed, the jobs of the other ranks run and the sweep fails", async () => {
  await using instance = openInstance({ databaseUrl: await createDatabase() });
  const jobs = Object.values(JOB_RANKS).map((rank) => newJob({ rank }));
  await instance.database.query((sql) => insertJobs(sql, jobs));
  let statements = 0;
  const database: Database = {
    ...instance.database,
    query: (work, name) =>
      ++statements === 2
        ? Promise.reject(new Error("it took too long"))
        : instance.database.query(work, name),
  };
  const found: string[] = [];
  const deliver = (id: string) => Promise.resolve(void found.push(id));
  const swept = sweepJobs({ database, clock: Date.now, runJob: deliver });
  await assert.rejects(swept, { message: "it took too long" });
  assert.deepEqual(found.toSorted(), [jobs[0]!.id, jobs[2]!.id].toSorted());
});

Deno.test("sweep: finds the due jobs of a rank by an index, without reading other ranks", async () => {
  const databaseUrl = await createDatabase({ isNew: true });
  await using instance = openInstance({ databaseUrl });
  await runSql(databaseUrl, "analyze");
  await runSql(
    databaseUrl,
    `insert into gateway.jobs (id, task, payload, rank, run_at, created_at, updated_at)
     select gen_random_uuid(), 'deliver test', '{}', rank, 'epoch', 'epoch', 'epoch'
     from generate_series(1, 10000), unnest(array[1, 2]) rank`,
  );
  const id = await instance.insert();
  let due: { id: string }[] = [];
  const read = await rowsRead(databaseUrl, async (database) => {
    const now = new Date();
    due = await database.query((sql) => listDueJobs(sql, JOB_RANKS.awaited, now, 500));
  });
  assert.deepEqual(due.map((job) => job.id), [id]);
  assert.ok(read < 100, `${read} rows were read`);
});

/** An instance whose clock is wrong by `offMs`. */
function openWithClock(databaseUrl: string, offMs: number): Instance {
  return openInstance({
    databaseUrl,
    now: () => Date.now() + offMs,
    tasks: { greet: task(() => Promise.resolve()) },
  });
}

Deno.test("worker: an instance whose clock is behind runs a job that is due by the database's clock", async () => {
  await using instanceBehind = openWithClock(await createDatabase(), -60_000);
  const id = await instanceBehind.insert({ run_at: new Date(Date.now() - 1_000) });
  await instanceBehind.worker.run(id);
  assert.equal((await instanceBehind.find(id)).status, "succeeded");
});

Deno.test("worker: takes over the job of a crashed instance whose clock was a day ahead", async () => {
  const databaseUrl = await createDatabase();
  await using instance = openWithClock(databaseUrl, 0);
  const insertLeased = async (leaseUntil: string) => {
    const id = await instance.insert();
    await runSql(
      databaseUrl,
      `update gateway.jobs set status = 'running', lease_until = ${leaseUntil} where id = '${id}'`,
    );
    return id;
  };
  const lostJob = await insertLeased("now() + interval '1 day'");
  const heldJob = await insertLeased("now() + interval '1 minute'");
  assert.deepEqual(await sweep(instance.database), [lostJob]);
  for (const id of [lostJob, heldJob]) await instance.worker.run(id);
  assert.equal((await instance.find(lostJob)).status, "succeeded");
  assert.equal((await instance.find(heldJob)).status, "running");
});

for (const offMs of [-3_600_000, -40_000, 20_000, 3_600_000]) {
  Deno.test(`worker: an instance whose clock is off by ${offMs / 1_000} s takes over only jobs whose lease has expired by the database's clock`, async () => {
    const databaseUrl = await createDatabase();
    const hanging = Promise.withResolvers<void>();
    await using holder = openInstance({
      databaseUrl,
      tasks: { greet: task(() => hanging.promise) },
    });
    await using other = openWithClock(databaseUrl, offMs);
    const id = await holder.insert({ run_at: new Date(Date.now() - 7_200_000) });
    const run = holder.worker.run(id);
    await until("the job runs", async () => (await holder.find(id)).status === "running");
    // From then on the worker cannot renew its lease, because it holds another one.
    const moveLease = (seconds: number) =>
      runSql(databaseUrl, `update gateway.jobs set lease_until = now() + interval '${seconds} s'`);
    await moveLease(15);
    const clock = () => Date.now() + offMs;
    await sweepJobs({ ...other, clock, runJob: other.worker.run });
    await other.worker.run(id);
    assert.deepEqual([(await other.find(id)).status, (await other.find(id)).attempts], [
      "running",
      1,
    ]);
    await moveLease(-1);
    assert.equal(await sweepJobs({ ...other, clock, runJob: other.worker.run }), 1);
    assert.deepEqual([(await other.find(id)).status, (await other.find(id)).attempts], [
      "succeeded",
      2,
    ]);
    hanging.resolve();
    await run;
  });

  Deno.test(`worker: a job of an instance whose clock is off by ${offMs / 1_000} s is not taken over while it runs`, async () => {
    const databaseUrl = await createDatabase();
    const hanging = Promise.withResolvers<void>();
    await using holder = openInstance({
      databaseUrl,
      now: () => Date.now() + offMs,
      leaseMs: 30_000,
      tasks: { greet: task(() => hanging.promise) },
    });
    await using other = openWithClock(databaseUrl, 0);
    const id = await holder.insert({ run_at: new Date(Date.now() - 7_200_000) });
    const run = holder.worker.run(id);
    await until("the job runs", async () => (await holder.find(id)).status === "running");
    await other.worker.run(id);
    assert.equal((await other.find(id)).status, "running");
    hanging.resolve();
    await run;
    const { status, attempts } = await other.find(id);
    assert.deepEqual([status, attempts], ["succeeded", 1]);
  });
}

Deno.test("job id: contains the creation time according to the clock of its creator", () => {
  const now = new Date(Date.UTC(2040, 0, 1));
  const subject = { id: randomUUID(), user_id: null };
  const { id } = newOutboxJob("greet", subject, {}, { runAt: now, now });
  assert.equal(id.slice(0, 13), firstIdAt(now).slice(0, 13));
});
