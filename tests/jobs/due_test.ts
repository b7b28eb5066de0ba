import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { firstIdAt } from "../../core/ids.ts";
import { sweepJobs } from "../../core/jobs/schedule.ts";
import { newJob as newOutboxJob } from "../../core/records/new_job.ts";
import { insertJobs, LANES, type NewJob } from "../../db/jobs/jobs.ts";
import { createDatabase, runSql } from "../support/database/database.ts";
import { type Instance, newJob, openInstance, task } from "../support/jobs/jobs.ts";
import { openQueue, QUEUES, startWorker, writeJobs } from "../support/jobs/queues.ts";
import { until } from "../support/until.ts";

function newJobs(count: number, job: Partial<NewJob>): NewJob[] {
  return Array.from({ length: count }, () => newJob(job));
}

async function laneOf(databaseUrl: string, id: string): Promise<string> {
  const [row] = await runSql(databaseUrl, `select lane from gateway.jobs where id = '${id}'`);
  return row!.lane;
}

/** Longer than the jobs of these tests take. */
const LIMIT_MS = 60_000;

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
    await using _worker = startWorker(queue, jobQueue, {
      tasks: { check: task(check), greet: task(() => Promise.resolve()) },
    });
    await writeJobs(queue, jobQueue, ...newJobs(500, { task: "check", lane: LANES.checks }));
    await until("the checks are running", () => started > 1);
    const [awaited] = await writeJobs(queue, jobQueue, {});
    await until(
      "the awaited job has succeeded",
      async () => (await queue.find(awaited!)).status === "succeeded",
    );
    assert.deepEqual([started, finished], [4, 0], "four checks run at the same time");
    await runSql(queue.databaseUrl, "delete from gateway.jobs where status = 'queued'");
    slowChecks.resolve();
  });
}

Deno.test("job lane: a check that is merged with a more urgent job leaves the lane of checks", async () => {
  const databaseUrl = await createDatabase();
  const hanging = Promise.withResolvers<void>();
  const tasks = { greet: task(() => hanging.promise, { firstDelayMs: 0 }) };
  await using instance = openInstance({ databaseUrl, tasks });
  const { checks, recovery } = LANES;
  const merged = [
    [checks, recovery, recovery],
    [recovery, checks, recovery],
    [checks, undefined, recovery],
    [checks, checks, checks],
  ] as const;
  for (const [first, second, expected] of merged) {
    const subject_id = randomUUID();
    const id = await instance.insert({ subject_id, lane: first });
    await instance.insert({ subject_id, lane: second });
    assert.equal(await laneOf(databaseUrl, id), expected);
  }

  // The same holds if a running job is merged into a job that was queued during its run.
  const subject_id = randomUUID();
  const heldJob = await instance.insert({ subject_id, lane: recovery });
  const run = instance.worker.run(heldJob);
  await until(
    "the job is running",
    async () => (await instance.find(heldJob)).status === "running",
  );
  const successor = await instance.insert({ subject_id, lane: checks });
  hanging.reject(new Error("not yet"));
  await run;
  assert.deepEqual((await instance.find(heldJob)).result, { continued_by: successor });
  assert.equal(await laneOf(databaseUrl, successor), recovery);
});

Deno.test("sweep: runs all due jobs of every lane, each once", async () => {
  const databaseUrl = await createDatabase();
  const runs: string[] = [];
  const tasks = { greet: task(({ id }) => Promise.resolve(void runs.push(id))) };
  await using instance = openInstance({ databaseUrl, tasks });
  const { database } = instance;
  const lanes = Object.values(LANES);
  for (const lane of lanes) {
    await database.query((sql) => insertJobs(sql, newJobs(600, { lane, run_at: new Date(0) })));
  }
  assert.equal(await sweepJobs({ ...instance, clock: Date.now }), lanes.length * 600);
  assert.equal(new Set(runs).size, lanes.length * 600);
  assert.equal(runs.length, lanes.length * 600);
});

Deno.test("worker: leaves the jobs of a lane that it does not have to another instance, and fails them after an hour", async () => {
  const databaseUrl = await createDatabase();
  const runs: string[] = [];
  const run = () => Promise.resolve(void runs.push("other instance"));
  let laterMs = 0;
  const clock = () => Date.now() + laterMs;
  await using instance = openInstance({ databaseUrl, now: clock });
  await using otherInstance = openInstance({
    databaseUrl,
    tasks: { "deliver x": task(run, { concurrency: 2 }) },
  });
  const insert = () => instance.insert({ task: "deliver x", lane: "deliver x" });
  const id = await insert();
  assert.equal(await sweepJobs({ ...instance, clock }), 0);
  assert.equal((await instance.find(id)).status, "queued");
  assert.equal(await otherInstance.worker.runDue(LIMIT_MS), 1);
  assert.deepEqual(runs, ["other instance"]);

  const lostJob = await insert();
  laterMs = 3_600_000;
  assert.equal(await sweepJobs({ ...instance, clock }), 1);
  assert.equal((await instance.find(lostJob)).error, 'Error: Unknown task "deliver x"');
});

Deno.test("sweep: fails the running jobs of a lane that no instance has, an hour after their worker crashed", async () => {
  const databaseUrl = await createDatabase();
  await using instance = openInstance({ databaseUrl });
  const insertRunning = async (startedAgo: string, leaseUntil: string) => {
    const id = await instance.insert({ task: "deliver x", lane: "deliver x" });
    await runSql(
      databaseUrl,
      `update gateway.jobs set status = 'running', attempts = 1, lease_id = gen_random_uuid(),
         lease_until = ${leaseUntil}, updated_at = now() - interval '${startedAgo}'
       where id = '${id}'`,
    );
    return id;
  };
  const lostJob = await insertRunning("61 minutes", "now() - interval '1 hour'");
  const heldJob = await insertRunning("61 minutes", "now() + interval '1 minute'");
  const recentJob = await insertRunning("59 minutes", "now() - interval '58 minutes'");
  assert.equal(await sweepJobs({ ...instance, clock: Date.now }), 1);
  const { status, error } = await instance.find(lostJob);
  assert.deepEqual([status, error], ["failed", 'Error: Unknown task "deliver x"']);
  assert.equal((await instance.find(heldJob)).status, "running");
  assert.equal((await instance.find(recentJob)).status, "running");
  await runSql(databaseUrl, "delete from gateway.jobs where status = 'running'");
});

/** An instance whose clock is wrong by `offMs`. */
function openWithClock(databaseUrl: string, offMs: number): Instance {
  return openInstance({
    databaseUrl,
    now: () => Date.now() + offMs,
    tasks: { greet: task(() => Promise.resolve()) },
  });
}

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
  assert.equal(await instance.worker.runDue(LIMIT_MS), 1);
  await instance.worker.run(heldJob);
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
    await other.worker.runDue(LIMIT_MS);
    await other.worker.run(id);
    assert.deepEqual([(await other.find(id)).status, (await other.find(id)).attempts], [
      "running",
      1,
    ]);
    await moveLease(-1);
    assert.equal(await other.worker.runDue(LIMIT_MS), 1);
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
