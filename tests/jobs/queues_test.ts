import assert from "node:assert/strict";
import { join } from "node:path";
import { openKvQueue } from "../../core/jobs/kv_queue.ts";
import type { OpenJobQueue } from "../../core/jobs/queue.ts";
import { createLog } from "../../core/log.ts";
import { insertJobs, type NewJob } from "../../db/jobs.ts";
import { newJob, task } from "../support/jobs/jobs.ts";
import { openQueue, QUEUES, startWorker, type TestQueue } from "../support/jobs/queues.ts";
import { createDataFolder } from "../support/project.ts";
import { until } from "../support/until.ts";

const DAY_MS = 24 * 3_600_000;

function fromNow(ms: number): Date {
  return new Date(Date.now() + ms);
}

/** Writes jobs, and enqueues them after the commit. */
async function write(
  { database }: TestQueue,
  jobQueue: OpenJobQueue,
  ...jobs: Partial<NewJob>[]
): Promise<string[]> {
  const written = await database.query((sql) => insertJobs(sql, jobs.map(newJob)));
  for (const job of written) jobQueue.enqueue(job);
  return written.map(({ id }) => id);
}

/** Starts the queue; returns the jobs that it delivers, in order. None of them is run. */
function collect(jobQueue: OpenJobQueue): string[] {
  const delivered: string[] = [];
  jobQueue.start((id) => Promise.resolve(void delivered.push(id)));
  return delivered;
}

for (const name of QUEUES) {
  Deno.test(`${name} queue: delivers each job when its run_at has come, and not before`, async () => {
    await using queue = await openQueue(name);
    await using jobQueue = await queue.open();
    const delivered = new Map<string, number>();
    jobQueue.start((id) => Promise.resolve(void delivered.set(id, Date.now())));
    await write(queue, jobQueue, { run_at: fromNow(DAY_MS) }, { run_at: fromNow(60 * DAY_MS) });
    const [laterJob, dueJob] = [crypto.randomUUID(), crypto.randomUUID()];
    const laterTime = fromNow(500);
    const jobs = [{ id: laterJob, run_at: laterTime }, { id: dueJob, run_at: fromNow(-1_000) }];
    await write(queue, jobQueue, ...jobs);
    await until("both jobs are delivered", () => delivered.size >= 2);
    assert.deepEqual([...delivered.keys()].toSorted(), [laterJob, dueJob].toSorted());
    assert.ok(delivered.get(laterJob)! >= laterTime.getTime());
  });

  Deno.test(`${name} queue: a job that is brought forward is delivered at its new time`, async () => {
    await using queue = await openQueue(name);
    await using jobQueue = await queue.open();
    const delivered = collect(jobQueue);
    const subject_id = crypto.randomUUID();
    const [id] = await write(queue, jobQueue, { subject_id, run_at: fromNow(DAY_MS) });
    const again = await write(queue, jobQueue, { subject_id, run_at: new Date() });
    assert.deepEqual(again, [id]);
    await until("the job is delivered", () => delivered.length > 0);
    assert.deepEqual(delivered, [id]);
  });

  Deno.test(`${name} queue: a failing job is delivered again until it succeeds`, async () => {
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
    await until(
      "the job has succeeded",
      async () => (await queue.find(id!)).status === "succeeded",
    );
    assert.equal((await queue.find(id!)).attempts, 3);
    await worker.close(10_000);
  });

  Deno.test(`${name} queue: delivers no job of a transaction that was rolled back`, async () => {
    await using queue = await openQueue(name);
    await using jobQueue = await queue.open();
    const delivered = collect(jobQueue);
    const committedJobs: string[] = [];
    const rolledBack = queue.database.transaction(async (sql) => {
      await insertJobs(sql, [newJob()]);
      committedJobs.push(...await write(queue, jobQueue, {}));
      await until("the committed job is delivered", () => delivered.length > 0);
      throw new Error("something else failed");
    });
    await assert.rejects(rolledBack, { message: "something else failed" });
    committedJobs.push(...await write(queue, jobQueue, {}));
    await until("the next job is delivered", () => delivered.length > 1);
    assert.deepEqual(delivered, committedJobs);
  });

  Deno.test(`${name} queue: enqueue never throws, not even after the queue is closed`, async () => {
    await using queue = await openQueue(name);
    const jobQueue = await queue.open();
    const delivered = collect(jobQueue);
    jobQueue.stop();
    await jobQueue[Symbol.asyncDispose]();
    await write(queue, jobQueue, {});
    assert.deepEqual(delivered, []);
  });

  Deno.test(`${name} queue: with two instances each job runs once`, async () => {
    await using queue = await openQueue(name);
    await using firstQueue = await queue.open();
    await using secondQueue = await queue.open();
    const runs: string[] = [];
    const runsBy = { first: 0, second: 0 };
    const tasks = (instance: keyof typeof runsBy) => ({
      greet: task((job) => {
        runsBy[instance]++;
        return Promise.resolve(void runs.push(job.id));
      }),
    });
    const workers = [
      startWorker(queue, firstQueue, { tasks: tasks("first") }),
      startWorker(queue, secondQueue, { tasks: tasks("second") }),
    ];
    const ids: string[] = [];
    // One instance may have run many jobs before the other is connected.
    await until("both instances have run jobs", async () => {
      for (const jobQueue of [firstQueue, secondQueue]) {
        ids.push(...await write(queue, jobQueue, ...Array(10).fill({})));
      }
      return ids.length >= 200 && runsBy.first > 0 && runsBy.second > 0;
    });
    await until("all jobs have run", () => runs.length >= ids.length);
    await Promise.all(workers.map((worker) => worker.close(10_000)));
    assert.deepEqual(runs.toSorted(), ids.toSorted());
  });

  Deno.test(`${name} queue: jobs in transit when the queue closes are delivered after the next start`, async () => {
    await using queue = await openQueue(name);
    let ids: string[];
    {
      await using jobQueue = await queue.open();
      ids = await write(queue, jobQueue, ...Array(3).fill({ run_at: fromNow(10) }));
    }
    await using jobQueue = await queue.open();
    const delivered = collect(jobQueue);
    await until("all jobs are delivered", () => delivered.length >= 3);
    assert.deepEqual(delivered.toSorted(), ids.toSorted());
  });
}

Deno.test("kv queue: ignores messages of an unknown format", async () => {
  await using queue = await openQueue("kv");
  const kv = await Deno.openKv(join(queue.folder, "jobs.kv"));
  for (const message of ["text", null, { job: 7 }, {}]) await kv.enqueue(message);
  kv.close();
  await using jobQueue = await queue.open();
  const delivered = collect(jobQueue);
  const [validJob] = await write(queue, jobQueue, { run_at: fromNow(200) });
  await until("the valid job is delivered", () => delivered.includes(validJob!));
  assert.deepEqual(delivered, [validJob]);
});

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
