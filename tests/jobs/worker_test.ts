import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { basename } from "node:path";
import { sweepJobs } from "../../core/jobs/schedule.ts";
import { PostponeJob, type Tasks } from "../../core/jobs/task.ts";
import { createWorker } from "../../core/jobs/worker.ts";
import type { Database } from "../../db/connection/database.ts";
import { insertJobs } from "../../db/jobs/jobs.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { throughProxy } from "../support/database/tcp_proxy.ts";
import { type Instance, newJob, openInstance, task } from "../support/jobs/jobs.ts";
import { inTime, until } from "../support/until.ts";

const databaseUrl = await createDatabase();

/** Ends the lease of a job, as if its worker had not renewed it. */
async function endLease(id: string): Promise<void> {
  await runSql(databaseUrl, `update gateway.jobs set lease_until = 'epoch' where id = '${id}'`);
}

/** Longer than the jobs of these tests take. */
const LIMIT_MS = 60_000;

Deno.test("worker: passes the stored job to its task and stores the result", async () => {
  const tasks = {
    greet: task((job) => Promise.resolve({ greeting: `Hello ${job.payload.name}` })),
    nothing: task(() => Promise.resolve()),
  };
  await using instance = openInstance({ databaseUrl, tasks });
  const id = await instance.insert({ payload: { name: "Siti" }, user_id: "alice" });
  await instance.worker.run(id);
  const job = await instance.find(id);
  assert.deepEqual(job.result, { greeting: "Hello Siti" });
  assert.deepEqual(
    [job.status, job.attempts, job.error, job.lease_until, job.user_id],
    ["succeeded", 1, null, null, "alice"],
  );
  const jobWithoutResult = await instance.insert({ task: "nothing" });
  await instance.worker.run(jobWithoutResult);
  assert.equal((await instance.find(jobWithoutResult)).status, "succeeded");
  assert.equal((await instance.find(jobWithoutResult)).result, null);
});

Deno.test("worker: a job delivered 50 times at the same time runs once", async () => {
  await using instance = openInstance({ databaseUrl });
  for (let round = 0; round < 5; round++) {
    let runs = 0;
    const tasks = { greet: task(() => Promise.resolve(runs++)) };
    const { database, jobQueue, log } = instance;
    const workers = Array.from(
      { length: 50 },
      () => createWorker({ database, tasks, jobQueue, log, clock: Date.now, maxRunning: 1 }),
    );
    const id = await instance.insert();
    await Promise.all(workers.map((worker) => worker.run(id)));
    assert.equal(runs, 1);
    assert.equal((await instance.find(id)).attempts, 1);
  }
});

Deno.test("worker: does not run a finished job again", async () => {
  let runs = 0;
  const tasks = { greet: task(() => Promise.resolve(runs++)) };
  await using instance = openInstance({ databaseUrl, tasks });
  const id = await instance.insert();
  await instance.worker.run(id);
  await instance.worker.run(id);
  await instance.worker.run(randomUUID());
  assert.equal(runs, 1);
});

Deno.test("lease: another instance takes over a job only after its lease has expired", async () => {
  const hanging = Promise.withResolvers<string>();
  await using firstInstance = openInstance({
    databaseUrl,
    tasks: { greet: task(() => hanging.promise) },
  });
  await using secondInstance = openInstance({
    databaseUrl,
    tasks: { greet: task(() => Promise.resolve("second")) },
  });
  const id = await firstInstance.insert();
  const run = firstInstance.worker.run(id);
  await until(
    "the job is running",
    async () => (await firstInstance.find(id)).status === "running",
  );
  await secondInstance.worker.run(id);
  await secondInstance.worker.runDue(LIMIT_MS);
  assert.equal((await secondInstance.find(id)).status, "running");

  await endLease(id);
  await secondInstance.worker.runDue(LIMIT_MS);
  assert.equal((await secondInstance.find(id)).result, "second");

  // The first worker has lost its lease, so its result is not stored.
  hanging.resolve("first");
  await run;
  const job = await firstInstance.find(id);
  assert.deepEqual([job.status, job.result, job.attempts], ["succeeded", "second", 2]);
  assert.match(firstInstance.logged(), /"event":"job_lease_lost"/);
});

/** Renewed every 3 s, so that it does not end while a busy machine delays a renewal. */
const LEASE_MS = 9_000;

Deno.test("lease: is renewed while a long job runs", async () => {
  const hanging = Promise.withResolvers<string>();
  const tasks = { greet: task(() => hanging.promise) };
  await using firstInstance = openInstance({ databaseUrl, tasks, leaseMs: LEASE_MS });
  await using secondInstance = openInstance({ databaseUrl, tasks });
  const id = await firstInstance.insert();
  const run = firstInstance.worker.run(id);
  const lease = async () => (await firstInstance.find(id)).lease_until?.getTime() ?? 0;
  await until("the job is running", async () => await lease() > 0);
  const begun = await lease();
  await until("the lease is renewed", async () => await lease() > begun);
  await secondInstance.worker.run(id);
  hanging.resolve("done");
  await run;
  const job = await firstInstance.find(id);
  assert.deepEqual([job.status, job.result, job.attempts], ["succeeded", "done", 1]);
  assert.doesNotMatch(firstInstance.logged(), /job_lease/);
});

Deno.test("worker: a job that fails because its workers crashed keeps the error of an earlier attempt", async () => {
  await using instance = openInstance({
    databaseUrl,
    tasks: { greet: task(() => Promise.resolve(), { retries: 1 }) },
  });
  const id = await instance.insert();
  await runSql(
    databaseUrl,
    `update gateway.jobs set status = 'running', lease_until = 'epoch', attempts = 5,
       error = 'gateway_timeout: (outcome unknown: payment 1)' where id = '${id}'`,
  );
  await instance.worker.run(id);
  const job = await instance.find(id);
  assert.match(job.error!, /crashed or lost their lease; .*outcome unknown: payment 1/);
});

Deno.test("worker: a job that crashes every process fails after a few attempts", async () => {
  let runs = 0;
  await using instance = openInstance({
    databaseUrl,
    tasks: { greet: task(() => Promise.resolve(runs++), { retries: 1 }) },
  });
  const id = await instance.insert();
  const abandon = (attempts: number) =>
    runSql(
      databaseUrl,
      `update gateway.jobs set status = 'running', lease_until = 'epoch', attempts = ${attempts}
       where id = '${id}'`,
    );
  await abandon(5);
  await instance.worker.run(id);
  const job = await instance.find(id);
  assert.deepEqual([runs, job.status], [0, "failed"]);
  assert.match(job.error!, /crashed or lost their lease$/);
  await abandon(4);
  await instance.worker.run(id);
  assert.deepEqual([runs, (await instance.find(id)).status], [1, "succeeded"]);
});

Deno.test("worker: retries a failing job with doubling delays, then fails it", async () => {
  let now = Date.now();
  let runs = 0;
  await using instance = openInstance({
    databaseUrl,
    now: () => now,
    tasks: {
      greet: task(() => Promise.reject(new Error(`No. ${++runs}`)), { firstDelayMs: 60_000 }),
    },
  });
  const id = await instance.insert();
  const delays: number[] = [];
  for (let attempt = 1; attempt <= 3; attempt++) {
    instance.enqueued.length = 0;
    await instance.worker.run(id);
    const job = await instance.find(id);
    assert.deepEqual([job.status, job.attempts], ["queued", attempt]);
    assert.equal(job.error, `Error: No. ${attempt}`);
    assert.deepEqual(instance.enqueued, [{ id, run_at: job.run_at }]);
    delays.push(job.run_at.getTime() - now);
    // A job that is delivered 5 s early does not run.
    now = job.run_at.getTime() - 5_000;
    await instance.worker.run(id);
    assert.equal(runs, attempt);
    now = job.run_at.getTime();
  }
  assert.deepEqual(delays, [60_000, 120_000, 240_000]);
  instance.enqueued.length = 0;
  await instance.worker.run(id);
  const job = await instance.find(id);
  assert.deepEqual([job.status, job.attempts, job.error], ["failed", 4, "Error: No. 4"]);
  assert.deepEqual(instance.enqueued, []);
});

Deno.test("worker: a job that succeeds after a retry has no error", async () => {
  let runs = 0;
  await using instance = openInstance({
    databaseUrl,
    tasks: {
      greet: task(() => ++runs === 1 ? Promise.reject(new Error("no")) : Promise.resolve("yes"), {
        firstDelayMs: 0,
      }),
    },
  });
  const id = await instance.insert();
  await instance.worker.run(id);
  await instance.worker.run(id);
  const job = await instance.find(id);
  assert.deepEqual([job.status, job.result, job.error], ["succeeded", "yes", null]);
});

Deno.test("worker: a postponed job runs at its new time, and no attempt is counted", async () => {
  let now = Date.UTC(2026, 0, 1);
  let runs = 0;
  const tasks = {
    greet: task(
      () =>
        ++runs < 10 ? Promise.reject(new PostponeJob(new Date(now + 30_000))) : Promise.resolve(),
      { retries: 0 },
    ),
  };
  await using instance = openInstance({ databaseUrl, tasks, now: () => now });
  const id = await instance.insert();
  for (let i = 1; i < 10; i++) {
    instance.enqueued.length = 0;
    await instance.worker.run(id);
    const job = await instance.find(id);
    assert.deepEqual([job.status, job.attempts, job.error], ["queued", 0, null]);
    assert.equal(job.run_at.getTime(), now + 30_000);
    assert.deepEqual(instance.enqueued, [{ id, run_at: job.run_at }]);
    now += 30_000;
  }
  await instance.worker.run(id);
  const job = await instance.find(id);
  assert.deepEqual([runs, job.status, job.attempts], [10, "succeeded", 1]);
  assert.equal(
    instance.logged().match(/"event":"job"/g)?.length,
    1,
    "postponements are not logged",
  );
});

Deno.test("worker: the stored error of a job has no secrets and no stack", async () => {
  const secrets = {
    serverKey: "Mid-server-abcdefgh12345678",
    apiKey: "gk_" + "s".repeat(43),
    password: "hunter2",
    card: "4811 1111 1111 1114",
  };
  const message = `refused ${secrets.serverKey} ${secrets.apiKey} ` +
    `postgres://u:${secrets.password}@h/d ${secrets.card} \0 ` + "x".repeat(1_000);
  await using instance = openInstance({
    databaseUrl,
    tasks: { greet: task(() => Promise.reject(new TypeError(message)), { retries: 0 }) },
  });
  const id = await instance.insert();
  await instance.worker.run(id);
  const { status, error } = await instance.find(id);
  assert.equal(status, "failed");
  assert.match(error!, /^TypeError: refused Mid-server-/);
  assert.ok(error!.length <= 500);
  assert.ok(!error!.includes(basename(import.meta.filename!)), "no stack");
  for (const secret of Object.values(secrets)) {
    assert.ok(!error!.includes(secret));
    assert.ok(!instance.logged().includes(secret));
  }
  assert.match(instance.logged(), new RegExp(`"event":"job_failed","job":"${id}","task":"greet"`));
});

Deno.test("worker: a job of an unknown task fails at once, and its error names the task", async () => {
  await using instance = openInstance({ databaseUrl });
  for (const name of ["no_such_task", "constructor"]) {
    const id = await instance.insert({ task: name });
    await instance.worker.run(id);
    const { status, error } = await instance.find(id);
    assert.deepEqual([status, error], ["failed", `Error: Unknown task "${name}"`]);
  }
});

Deno.test("worker: a job whose result is not JSON fails", async () => {
  await using instance = openInstance({
    databaseUrl,
    tasks: { greet: task(() => Promise.resolve(1n), { retries: 0 }) },
  });
  const id = await instance.insert();
  await instance.worker.run(id);
  assert.equal((await instance.find(id)).status, "failed");
});

Deno.test("worker: if an attempt exceeds the time limit, its signal is aborted and the job is queued again", async () => {
  let signal: AbortSignal | undefined;
  await using instance = openInstance({
    databaseUrl,
    limitMs: 10,
    tasks: {
      greet: task((_, context) => {
        signal = context.signal;
        return new Promise(() => {});
      }),
    },
  });
  const id = await instance.insert();
  await instance.worker.run(id);
  assert.equal((await instance.find(id)).status, "queued");
  assert.match((await instance.find(id)).error!, /Timed out after 0.01 s/);
  assert.ok(signal?.aborted);
});

Deno.test("jobs: only one job per task and subject can be queued; while that job runs, another can be queued", async () => {
  const running = Promise.withResolvers<void>();
  await using instance = openInstance({
    databaseUrl,
    tasks: { greet: task(() => running.promise), part: task(() => Promise.resolve()) },
  });
  const { database } = instance;
  const subject_id = randomUUID();
  const jobs = Array.from({ length: 10 }, () => newJob({ subject_id }));
  const insert = (...jobs: ReturnType<typeof newJob>[]) =>
    database.query((sql) => insertJobs(sql, jobs));
  const written = (await Promise.all(jobs.map((job) => insert(job)))).flat();
  const { id } = written[0]!;
  assert.deepEqual(new Set(written.map((job) => job.id)), new Set([id]));
  // Jobs of another subject, another task, or without subject are separate.
  const otherJobs = [{ subject_id: randomUUID() }, { subject_id, task: "part" }, {}, {}].map(
    newJob,
  );
  const inserted = await insert(...otherJobs, jobs[0]!);
  assert.deepEqual(
    new Set(inserted.map((job) => job.id)),
    new Set([...otherJobs.map((other) => other.id), id]),
  );

  const run = instance.worker.run(id);
  await until("the job is running", async () => (await instance.find(id)).status === "running");
  const nextJob = newJob({ subject_id });
  assert.deepEqual([...await insert(nextJob)], [{ id: nextJob.id, run_at: nextJob.run_at }]);
  // An earlier run_at makes the queued job run earlier; a later run_at does not delay it.
  for (const [offset, expected] of [[-5_000, -5_000], [60_000, -5_000]] as const) {
    const at = (ms: number) => new Date(nextJob.run_at.getTime() + ms);
    const [waitingJob] = await insert(newJob({ subject_id, run_at: at(offset) }));
    assert.deepEqual(waitingJob, { id: nextJob.id, run_at: at(expected) });
  }
  running.resolve();
  await run;
  assert.equal((await instance.find(nextJob.id)).status, "queued");
});

Deno.test("worker: a job to be retried is merged into a queued job of the same task and subject", async () => {
  let outcome = Promise.withResolvers<void>();
  await using instance = openInstance({
    databaseUrl,
    tasks: { greet: task(() => outcome.promise) },
  });
  for (const reason of [new Error("not yet"), new PostponeJob(new Date())]) {
    outcome = Promise.withResolvers();
    const subject_id = randomUUID();
    const id = await instance.insert({ subject_id });
    const run = instance.worker.run(id);
    await until("the job is running", async () => (await instance.find(id)).status === "running");
    const nextId = await instance.insert({ subject_id });
    outcome.reject(reason);
    await run;
    const job = await instance.find(id);
    assert.deepEqual([job.status, job.error], ["succeeded", null]);
    assert.deepEqual(job.result, { continued_by: nextId });
    assert.equal((await instance.find(nextId)).status, "queued");
    assert.deepEqual(instance.enqueued, []);
  }
});

Deno.test("worker: a job of a transaction that was rolled back never runs", async () => {
  let runs = 0;
  await using instance = openInstance({
    databaseUrl: await createDatabase(),
    tasks: { greet: task(() => Promise.resolve(runs++)) },
  });
  const job = newJob();
  const change = instance.database.transaction(async (sql) => {
    assert.equal((await insertJobs(sql, [job])).length, 1);
    // A worker that is woken before the commit does not find the job.
    await instance.worker.runDue(LIMIT_MS);
    throw new Error("something else failed");
  });
  await assert.rejects(change, { message: "something else failed" });
  assert.equal(await instance.worker.runDue(LIMIT_MS), 0);
  assert.equal(runs, 0);
});

Deno.test("worker: runs a bounded number of jobs at a time, each once", async () => {
  let running = 0;
  let peak = 0;
  const runs: string[] = [];
  const threeRun = Promise.withResolvers<void>();
  const tasks = {
    greet: task(async ({ id }) => {
      runs.push(id);
      peak = Math.max(peak, ++running);
      if (running === 3) threeRun.resolve();
      await threeRun.promise;
      await new Promise((resolve) => setTimeout(resolve));
      running--;
    }),
  };
  const databaseUrl = await createDatabase();
  await using instance = openInstance({ databaseUrl, tasks, maxRunning: 3 });
  const ids = await Promise.all(Array.from({ length: 50 }, () => instance.insert()));
  await Promise.all([instance.worker.wake(), instance.worker.runDue(LIMIT_MS)]);
  assert.equal(peak, 3);
  assert.deepEqual(runs.toSorted(), ids.toSorted());
  for (const id of ids) assert.equal((await instance.find(id)).status, "succeeded");
});

Deno.test("worker: close waits for running jobs and starts no more", async () => {
  const running = Promise.withResolvers<string>();
  const tasks = { greet: task(() => running.promise) };
  const databaseUrl = await createDatabase();
  await using instance = openInstance({ databaseUrl, tasks, maxRunning: 1 });
  const { worker } = instance;
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push(await instance.insert({ run_at: new Date(i) }));
  assert.equal(await worker.wake(), true, "its lane is full");
  let isClosed = false;
  const closed = worker.close(LIMIT_MS).then(() => isClosed = true);
  await worker.run(ids[2]!);
  assert.equal(await worker.wake(), false);
  assert.equal(isClosed, false);
  running.resolve("done");
  await closed;
  assert.equal((await instance.find(ids[0]!)).result, "done");
  for (const id of ids.slice(1)) assert.equal((await instance.find(id)).status, "queued");
});

/** A worker whose claims take effect at once, but whose responses wait for `answer`. */
function holdClaims(instance: Instance, tasks: Tasks, maxRunning: number) {
  const claimed = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const database: Database = {
    ...instance.database,
    async query(work, name) {
      const result = await instance.database.query(work, name);
      if (name !== "claim jobs") return result;
      claimed.resolve();
      await answer.promise;
      return result;
    },
  };
  const worker = createWorker({ ...instance, database, tasks, clock: Date.now, maxRunning });
  return { worker, claimed: claimed.promise, answer: answer.resolve };
}

Deno.test("worker: close waits for a claim that is under way, and for the jobs that it claimed", async () => {
  await using instance = openInstance({ databaseUrl: await createDatabase() });
  const tasks = { greet: task(() => Promise.resolve("done")) };
  const { worker, claimed, answer } = holdClaims(instance, tasks, 1);
  const [first, second] = [await instance.insert({ run_at: new Date(0) }), await instance.insert()];
  worker.wake();
  await inTime("the job is claimed", claimed);
  const closed = worker.close(LIMIT_MS);
  answer();
  await closed;
  assert.deepEqual([(await instance.find(first)).status, (await instance.find(second)).status], [
    "succeeded",
    "queued",
  ]);
});

Deno.test("worker: claims again if places became free while a claim filled the others", async () => {
  await using instance = openInstance({ databaseUrl: await createDatabase() });
  const first = Promise.withResolvers<void>();
  const later = Promise.withResolvers<void>();
  let started = 0;
  const run = () => ++started === 1 ? first.promise : later.promise;
  const { worker, claimed, answer } = holdClaims(instance, { greet: task(run) }, 2);
  // Runs without a claim of the lane, so that it is the only one.
  const running = worker.run(await instance.insert());
  await until("the first job runs", () => started === 1);
  for (let i = 0; i < 2; i++) await instance.insert();
  worker.wake();
  await inTime("the second job is claimed", claimed);
  first.resolve();
  await running;
  answer();
  await until("both places are taken", () => started === 3);
  later.resolve();
  await worker.close(LIMIT_MS);
});

Deno.test("worker: logs an outage of the database once, and again after the next one", async () => {
  await using instance = openInstance({ databaseUrl: await createDatabase() });
  let isDown = true;
  const database: Database = {
    ...instance.database,
    query: (work, name) =>
      isDown ? Promise.reject(new Error("it is down")) : instance.database.query(work, name),
  };
  const worker = createWorker({
    ...instance,
    database,
    tasks: { greet: task(() => Promise.resolve()) },
    clock: Date.now,
    maxRunning: 1,
  });
  const count = () => instance.logged().match(/"event":"queue_interrupted"/g)?.length;
  for (let i = 0; i < 3; i++) await worker.wake();
  assert.equal(count(), 1);
  isDown = false;
  const id = await instance.insert();
  await worker.wake();
  await until("the job is done", async () => (await instance.find(id)).status === "succeeded");
  isDown = true;
  await worker.wake();
  assert.equal(count(), 2);
  await worker.close(LIMIT_MS);
});

Deno.test("worker: close stops waiting after the grace period", async () => {
  const running = Promise.withResolvers<void>();
  await using instance = openInstance({
    databaseUrl,
    tasks: { greet: task(() => running.promise) },
  });
  const run = instance.worker.run(await instance.insert());
  await instance.worker.close(10);
  running.resolve();
  await run;
});

Deno.test("worker: a job survives a database outage during its run", async () => {
  const { proxy, url } = throughProxy(databaseUrl);
  await using _ = proxy;
  let runs = 0;
  await using instance = openInstance({
    databaseUrl: url,
    tasks: {
      greet: task(() => {
        if (++runs === 1) proxy.cut();
        return Promise.resolve("done");
      }),
    },
  });
  const id = await instance.insert();
  await instance.worker.run(id);
  assert.match(instance.logged(), /"event":"job_interrupted"/);
  proxy.restore();
  await until("the database is back", () => instance.find(id).then(() => true, () => false));
  assert.equal((await instance.find(id)).status, "running");
  await endLease(id);
  await instance.worker.run(id);
  assert.deepEqual([(await instance.find(id)).result, runs], ["done", 2]);
});

Deno.test("sweep: runs due jobs and jobs with an expired lease, oldest first", async () => {
  const databaseUrl = await createDatabase();
  const now = Date.UTC(2026, 0, 1);
  const runs: string[] = [];
  const tasks = { greet: task(({ id }) => Promise.resolve(void runs.push(id))) };
  await using instance = openInstance({ databaseUrl, now: () => now, tasks });
  const at = (seconds: number) => new Date(now + seconds * 1000);
  const statuses = {
    due: ["queued", -1, null],
    oldest: ["queued", -3600, null],
    later: ["queued", 1, null],
    running: ["running", -60, 1],
    abandoned: ["running", -60, -1],
    succeeded: ["succeeded", -60, null],
    failed: ["failed", -60, null],
  } as const;
  const ids: Record<string, string> = {};
  for (const [name, [status, runAt, lease]] of Object.entries(statuses)) {
    const id = ids[name] = await instance.insert({ run_at: at(runAt) });
    // By the database's clock, unlike `run_at`.
    await instance.database.query((sql) =>
      sql`update gateway.jobs
        set status = ${status}, lease_until = now() + ${lease}::integer * interval '1 minute'
        where id = ${id}`
    );
  }
  assert.equal(await sweepJobs({ ...instance, clock: () => now }), 3);
  assert.deepEqual(runs, [ids.abandoned, ids.oldest, ids.due]);
});
