import assert from "node:assert/strict";
import { join } from "node:path";
import { openKvQueue } from "../../core/jobs/kv_queue.ts";
import type { OpenJobQueue } from "../../core/jobs/queue.ts";
import { createLog } from "../../core/telemetry/log.ts";
import { insertJobs } from "../../db/jobs/jobs.ts";
import { newJob, task } from "../support/jobs/jobs.ts";
import {
  openQueue,
  QUEUES,
  startWorker,
  type TestQueue,
  type TestWorker,
  writeJobs,
} from "../support/jobs/queues.ts";
import { createDataFolder } from "../support/project.ts";
import { until } from "../support/until.ts";

const DAY_MS = 24 * 3_600_000;

function fromNow(ms: number): Date {
  return new Date(Date.now() + ms);
}

/** Starts a worker; `runs` are the jobs that it has run, in order. */
function record(
  queue: TestQueue,
  jobQueue: OpenJobQueue,
  options: { isPolling?: boolean } = {},
): TestWorker & { runs: string[] } {
  const runs: string[] = [];
  const tasks = { greet: task(({ id }) => Promise.resolve(void runs.push(id))) };
  return { ...startWorker(queue, jobQueue, { tasks, ...options }), runs };
}

for (const name of QUEUES) {
  Deno.test(`${name} queue: wakes a worker after the commit, without polling`, async () => {
    await using queue = await openQueue(name);
    await using jobQueue = await queue.open({ listenUrl: null });
    await using worker = record(queue, jobQueue, { isPolling: false });
    for (let i = 1; i <= 20; i++) {
      await writeJobs(queue, jobQueue, {});
      await until("the job has run", () => worker.runs.length === i);
    }
  });

  Deno.test(`${name} queue: each job runs when its run_at has come, and not before`, async () => {
    await using queue = await openQueue(name);
    await using jobQueue = await queue.open();
    const runs = new Map<string, number>();
    await using _worker = startWorker(queue, jobQueue, {
      tasks: { greet: task(({ id }) => Promise.resolve(void runs.set(id, Date.now()))) },
    });
    const futureJobs = [{ run_at: fromNow(DAY_MS) }, { run_at: fromNow(60 * DAY_MS) }];
    await writeJobs(queue, jobQueue, ...futureJobs);
    const [laterJob, dueJob] = [crypto.randomUUID(), crypto.randomUUID()];
    const laterTime = fromNow(500);
    const jobs = [{ id: laterJob, run_at: laterTime }, { id: dueJob, run_at: fromNow(-1_000) }];
    await writeJobs(queue, jobQueue, ...jobs);
    await until("both jobs have run", () => runs.size >= 2);
    assert.deepEqual([...runs.keys()].toSorted(), [laterJob, dueJob].toSorted());
    assert.ok(runs.get(laterJob)! >= laterTime.getTime());
  });

  Deno.test(`${name} queue: a job that is brought forward runs at its new time`, async () => {
    await using queue = await openQueue(name);
    await using jobQueue = await queue.open();
    await using worker = record(queue, jobQueue);
    const subject_id = crypto.randomUUID();
    const [id] = await writeJobs(queue, jobQueue, { subject_id, run_at: fromNow(DAY_MS) });
    const again = await writeJobs(queue, jobQueue, { subject_id, run_at: new Date() });
    assert.deepEqual(again, [id]);
    await until("the job has run", () => worker.runs.length > 0);
    assert.deepEqual(worker.runs, [id]);
  });

  Deno.test(`${name} queue: a failing job runs again until it succeeds`, async () => {
    await using queue = await openQueue(name);
    await using jobQueue = await queue.open();
    let runs = 0;
    await using _worker = startWorker(queue, jobQueue, {
      tasks: {
        greet: task(() => ++runs < 3 ? Promise.reject(new Error("no")) : Promise.resolve("yes"), {
          firstDelayMs: 10,
        }),
      },
    });
    const [id] = await writeJobs(queue, jobQueue, {});
    await until(
      "the job has succeeded",
      async () => (await queue.find(id!)).status === "succeeded",
    );
    assert.equal((await queue.find(id!)).attempts, 3);
  });

  Deno.test(`${name} queue: runs no job of a transaction that was rolled back`, async () => {
    await using queue = await openQueue(name);
    await using jobQueue = await queue.open();
    await using worker = record(queue, jobQueue);
    const committedJobs: string[] = [];
    const rolledBack = queue.database.transaction(async (sql) => {
      await insertJobs(sql, [newJob()]);
      committedJobs.push(...await writeJobs(queue, jobQueue, {}));
      await until("the committed job has run", () => worker.runs.length > 0);
      throw new Error("something else failed");
    });
    await assert.rejects(rolledBack, { message: "something else failed" });
    committedJobs.push(...await writeJobs(queue, jobQueue, {}));
    await until("the next job has run", () => worker.runs.length > 1);
    assert.deepEqual(worker.runs, committedJobs);
  });

  Deno.test(`${name} queue: enqueue never throws, not even after the queue is closed`, async () => {
    await using queue = await openQueue(name);
    const jobQueue = await queue.open();
    const worker = record(queue, jobQueue);
    await worker.close(10_000);
    await jobQueue[Symbol.asyncDispose]();
    await writeJobs(queue, jobQueue, {});
    assert.deepEqual(worker.runs, []);
  });

  Deno.test(`${name} queue: with two instances each job runs once`, async () => {
    await using queue = await openQueue(name);
    await using firstQueue = await queue.open();
    await using secondQueue = await queue.open();
    const workers = [record(queue, firstQueue), record(queue, secondQueue)];
    const ids: string[] = [];
    // One instance may have run many jobs before the other is connected.
    await until("both instances have run jobs", async () => {
      for (const jobQueue of [firstQueue, secondQueue]) {
        ids.push(...await writeJobs(queue, jobQueue, ...Array(10).fill({})));
      }
      return ids.length >= 200 && workers.every(({ runs }) => runs.length > 0);
    });
    const runs = () => workers.flatMap((worker) => worker.runs);
    await until("all jobs have run", () => runs().length >= ids.length);
    await Promise.all(workers.map((worker) => worker.close(10_000)));
    assert.deepEqual(runs().toSorted(), ids.toSorted());
  });

  Deno.test(`${name} queue: jobs that were enqueued before the queue closed run after the next start`, async () => {
    await using queue = await openQueue(name);
    let ids: string[];
    {
      await using jobQueue = await queue.open();
      ids = await writeJobs(queue, jobQueue, ...Array(3).fill({ run_at: fromNow(10) }));
    }
    await using jobQueue = await queue.open();
    await using worker = record(queue, jobQueue);
    await until("all jobs have run", () => worker.runs.length >= 3);
    assert.deepEqual(worker.runs.toSorted(), ids.toSorted());
  });
}

Deno.test("kv queue: a failed enqueue is logged and not thrown", async () => {
  await using folder = await createDataFolder();
  let logged = "";
  const log = createLog((lines) => logged += lines);
  const path = join(folder.path, "jobs.kv");
  // With this clock the delay of the message is NaN, which Deno KV rejects.
  await using jobQueue = await openKvQueue({ path, clock: () => Number.NaN, log });
  jobQueue.enqueue({ id: "x", run_at: new Date() });
  await until("the failure is logged", () => {
    log.flush();
    return logged.includes("job_not_enqueued");
  });
});
