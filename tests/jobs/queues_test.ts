import assert from "node:assert/strict";
import { join } from "node:path";
import { openKvQueue } from "../../core/jobs/kv_queue.ts";
import type { OpenJobQueue } from "../../core/jobs/queue.ts";
import { createLog } from "../../core/log.ts";
import { insertJobs, type NewJob } from "../../db/jobs.ts";
import { newJob, task } from "../support/jobs/jobs.ts";
import { openQueue, QUEUES, startWorker, type TestQueue } from "../support/jobs/queues.ts";
import { dataFolder } from "../support/project.ts";
import { until } from "../support/until.ts";

const DAY_MS = 24 * 3_600_000;

function fromNow(ms: number): Date {
  return new Date(Date.now() + ms);
}

/** As all who write jobs do: the carrier hears of it after the commit. */
async function write(
  { database }: TestQueue,
  jobQueue: OpenJobQueue,
  ...jobs: Partial<NewJob>[]
): Promise<string[]> {
  const written = await database.query((sql) => insertJobs(sql, jobs.map(newJob)));
  for (const job of written) jobQueue.enqueue(job);
  return written.map(({ id }) => id);
}

/** What is delivered, in that order; nothing of it is run. */
function collect(jobQueue: OpenJobQueue): string[] {
  const delivered: string[] = [];
  jobQueue.start((id) => Promise.resolve(void delivered.push(id)));
  return delivered;
}

for (const name of QUEUES) {
  Deno.test(`${name}: what is due first is delivered first, what is far off not now`, async () => {
    await using queue = await openQueue(name);
    await using jobQueue = await queue.open();
    const delivered = collect(jobQueue);
    await write(queue, jobQueue, { run_at: fromNow(DAY_MS) }, { run_at: fromNow(60 * DAY_MS) });
    const [later, now] = [crypto.randomUUID(), crypto.randomUUID()];
    const jobs = [{ id: later, run_at: fromNow(500) }, { id: now, run_at: fromNow(-1_000) }];
    await write(queue, jobQueue, ...jobs);
    await until("both are there", () => delivered.length >= 2);
    assert.deepEqual(delivered, [now, later]);
  });

  Deno.test(`${name}: a job that is brought forward is delivered then`, async () => {
    await using queue = await openQueue(name);
    await using jobQueue = await queue.open();
    const delivered = collect(jobQueue);
    const subject_id = crypto.randomUUID();
    const [id] = await write(queue, jobQueue, { subject_id, run_at: fromNow(DAY_MS) });
    const again = await write(queue, jobQueue, { subject_id, run_at: new Date() });
    assert.deepEqual(again, [id]);
    await until("it is there", () => delivered.length > 0);
    assert.deepEqual(delivered, [id]);
  });

  Deno.test(`${name}: a job that fails is brought again until it succeeds`, async () => {
    await using queue = await openQueue(name);
    await using jobQueue = await queue.open();
    let runs = 0;
    const worker = startWorker(queue, jobQueue, {
      tasks: {
        greet: task(() => ++runs < 3 ? Promise.reject(new Error("no")) : Promise.resolve("yes"), {
          firstDelayMs: 10,
        }),
      },
    });
    const [id] = await write(queue, jobQueue, {});
    await until("it is over", async () => (await queue.find(id!)).status === "succeeded");
    assert.equal((await queue.find(id!)).attempts, 3);
    await worker.close(10_000);
  });

  Deno.test(`${name}: of a transaction that was cancelled nothing is delivered`, async () => {
    await using queue = await openQueue(name);
    await using jobQueue = await queue.open();
    const delivered = collect(jobQueue);
    const others: string[] = [];
    const cancelled = queue.database.transaction(async (sql) => {
      await insertJobs(sql, [newJob()]);
      others.push(...await write(queue, jobQueue, {}));
      await until("the other one is there", () => delivered.length > 0);
      throw new Error("something else failed");
    });
    await assert.rejects(cancelled, { message: "something else failed" });
    others.push(...await write(queue, jobQueue, {}));
    await until("the next one is there", () => delivered.length > 1);
    assert.deepEqual(delivered, others);
  });

  Deno.test(`${name}: carrying never fails, not even at the end`, async () => {
    await using queue = await openQueue(name);
    const jobQueue = await queue.open();
    const delivered = collect(jobQueue);
    jobQueue.stop();
    await jobQueue[Symbol.asyncDispose]();
    await write(queue, jobQueue, {});
    assert.deepEqual(delivered, []);
  });

  Deno.test(`${name}: of many instances on one queue each job is run by one`, async () => {
    await using queue = await openQueue(name);
    await using first = await queue.open();
    await using second = await queue.open();
    const runs: string[] = [];
    const by = { first: 0, second: 0 };
    const tasks = (instance: keyof typeof by) => ({
      greet: task((job) => {
        by[instance]++;
        return Promise.resolve(void runs.push(job.id));
      }),
    });
    const workers = [
      startWorker(queue, first, { tasks: tasks("first") }),
      startWorker(queue, second, { tasks: tasks("second") }),
    ];
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) {
      ids.push(...await write(queue, i % 2 ? first : second, ...Array(10).fill({})));
    }
    await until("all are run", () => runs.length >= ids.length);
    await Promise.all(workers.map((worker) => worker.close(10_000)));
    assert.deepEqual(runs.toSorted(), ids.toSorted());
    assert.ok(by.first > 0 && by.second > 0);
  });

  Deno.test(`${name}: what was under way at the end is delivered after the next start`, async () => {
    await using queue = await openQueue(name);
    let ids: string[];
    {
      await using jobQueue = await queue.open();
      ids = await write(queue, jobQueue, ...Array(3).fill({ run_at: fromNow(10) }));
    }
    await using jobQueue = await queue.open();
    const delivered = collect(jobQueue);
    await until("all are there", () => delivered.length >= 3);
    assert.deepEqual(delivered.toSorted(), ids.toSorted());
  });
}

Deno.test("kv: what somebody else left in the file is passed over", async () => {
  await using queue = await openQueue("kv");
  const kv = await Deno.openKv(join(queue.folder, "jobs.kv"));
  for (const message of ["text", null, { job: 7 }, {}]) await kv.enqueue(message);
  kv.close();
  await using jobQueue = await queue.open();
  const delivered = collect(jobQueue);
  const [ours] = await write(queue, jobQueue, { run_at: fromNow(200) });
  await until("ours is there", () => delivered.includes(ours!));
  assert.deepEqual(delivered, [ours]);
});

Deno.test("kv: a queue that takes nothing is logged, and nobody is the worse for it", async () => {
  await using folder = await dataFolder();
  let logged = "";
  const log = createLog((lines) => logged += lines);
  const path = join(folder.path, "jobs.kv");
  // Of a time that is none the queue can make nothing.
  await using jobQueue = await openKvQueue({ path, clock: () => Number.NaN, log });
  jobQueue.enqueue({ id: "x", run_at: new Date() });
  await until("it is logged", () => {
    log.flush();
    return logged.includes("job_not_carried");
  });
});
