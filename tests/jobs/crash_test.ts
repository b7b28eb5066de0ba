import assert from "node:assert/strict";
import { runSql } from "../support/database/database.ts";
import { openQueue, QUEUES, type TestQueue } from "../support/jobs/queues.ts";
import { PROJECT } from "../support/project.ts";
import { until } from "../support/until.ts";

interface JobProcess extends AsyncDisposable {
  /** Resolves when the process has printed this word. */
  untilPrinted(word: string): Promise<void>;
  kill(): Promise<void>;
}

/** Starts a process that runs jobs; with `payloads` it first inserts a job for each of them. */
function startProcess(
  { queue, databaseUrl, folder }: TestQueue,
  payloads?: object[],
): JobProcess {
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-q", "--no-check", "-P=test"],
      ...["tests/support/jobs/job_process.ts", queue, databaseUrl, folder],
      ...payloads ? [JSON.stringify(payloads)] : [],
    ],
    cwd: PROJECT,
    stdin: "null",
    stdout: "piped",
    // Shown if a test fails.
    stderr: "inherit",
  }).spawn();
  let output = "";
  const collected = (async () => {
    for await (const text of process.stdout.pipeThrough(new TextDecoderStream())) output += text;
  })();
  let isKilled = false;
  const started: JobProcess = {
    untilPrinted: (word) => until(`it prints ${word}`, () => output.includes(word)),
    async kill() {
      if (!isKilled) process.kill("SIGKILL");
      isKilled = true;
      assert.equal((await process.status).signal, "SIGKILL");
      await collected;
    },
    [Symbol.asyncDispose]: () => started.kill(),
  };
  return started;
}

async function openQueueWithTables(name: TestQueue["queue"]): Promise<TestQueue> {
  const queue = await openQueue(name);
  await runSql(
    queue.databaseUrl,
    `create table runs (job uuid, attempt int); create table effects (job uuid primary key)`,
  );
  return queue;
}

async function count(queue: TestQueue, from: string): Promise<number> {
  const [row] = await runSql(queue.databaseUrl, `select count(*)::int as count from ${from}`);
  return row!.count;
}

const JOBS = 300;

/** On a busy machine so many jobs take long. */
const TIMEOUT_MS = 10 * 60_000;

for (const name of QUEUES) {
  Deno.test(`${name} queue: after a crash during ${JOBS} jobs each job takes effect once, even if it was interrupted or its first attempt failed`, async () => {
    await using queue = await openQueueWithTables(name);
    const payloads = Array.from(
      { length: JOBS },
      (_, i) => ({ fails: i % 20 === 1, hangs: i === 0 }),
    );
    await using firstProcess = startProcess(queue, payloads);
    await firstProcess.untilPrinted("begun");
    await until(
      "over 100 jobs are done",
      async () => await count(queue, "effects") > 100,
      TIMEOUT_MS,
    );
    await firstProcess.kill();
    const interrupted = await count(queue, "gateway.jobs where status = 'running'");
    assert.ok(interrupted > 0);
    await using _second = startProcess(queue);
    await until(
      "all jobs are done",
      async () => await count(queue, "gateway.jobs where status = 'succeeded'") === JOBS,
      TIMEOUT_MS,
    );
    assert.equal(await count(queue, "effects"), JOBS);
    // Only jobs that failed, and those that the killed process was running, run twice. A job that
    // was to fail first may have been interrupted before its run was stored.
    const runs = await count(queue, "runs");
    const most = JOBS + JOBS / 20 + interrupted;
    assert.ok(
      runs > JOBS && runs <= most,
      `${runs} runs, ${interrupted} interrupted`,
    );
  });
}
