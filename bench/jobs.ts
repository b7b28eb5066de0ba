/** Rate and latency of jobs in each queue, compared with the same statements without a queue. */

import { join } from "node:path";
import { systemClock } from "../core/time/clock.ts";
import type { Queue } from "../core/config/config.ts";
import { JOBS_FILE, openKvQueue } from "../core/jobs/kv_queue.ts";
import { openPostgresQueue } from "../core/jobs/postgres_queue.ts";
import type { OpenJobQueue } from "../core/jobs/queue.ts";
import type { Tasks } from "../core/jobs/task.ts";
import { createWorker } from "../core/jobs/worker.ts";
import { createLog } from "../core/telemetry/log.ts";
import { newJob } from "../core/records/new_job.ts";
import { type Database, openDatabase } from "../db/connection/database.ts";
import { NO_LOCK } from "../db/connection/instance_lock.ts";
import { claimJob, releaseJob } from "../db/jobs/claims.ts";
import { insertJobs, type NewJob } from "../db/jobs/jobs.ts";
import { loadMigrations, migrate } from "../db/migrations/migrate.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { timed } from "./support/caller.ts";
import { median, milliseconds, perSecond, ratio, requiredGoal, row } from "./support/figures.ts";
import { startPostgres } from "./support/postgres.ts";

const ROUNDS = 4;
/** Jobs in each round, for each queue. */
const JOBS = 1_000;
/** Jobs per insert statement. Many, so that inserting takes a small part of the measured time. */
const BATCH_SIZE = 100;
const SEQUENTIAL_JOBS = 100;
const WRITES = 200;

/** The same as in the service. */
const MAX_RUNNING_JOBS = 8;
const POOL_SIZE = 10;

const MIN_JOBS_PER_SECOND = 500;

const log = createLog(() => {});

interface Bench extends AsyncDisposable {
  database: Database;
  /** Null: runs the same statements without a queue. */
  jobQueue: OpenJobQueue | null;
  /** Called for each job that runs. */
  onRun: (jobId: string) => unknown;
}

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
await using plain = await open(null);
await using kv = await open("kv");
await using postgres = await open("postgres");

const benches = { plain, kv, postgres };
type Name = keyof typeof benches;
const names = Object.keys(benches) as Name[];
const perBench = <T>(make: () => T) => ({ plain: make(), kv: make(), postgres: make() });
const rates = perBench((): number[] => []);
const latencies = perBench((): number[] => []);
const writes = perBench((): number[] => []);

for (const name of names) await runAll(benches[name], JOBS);
for (let round = 0; round < ROUNDS; round++) {
  // Each queue goes first in some rounds.
  for (const name of [...names.slice(round % 3), ...names.slice(0, round % 3)]) {
    rates[name].push(await runAll(benches[name], JOBS));
    latencies[name].push(await measureLatency(benches[name]));
    writes[name].push(await measureWriteTime(benches[name]));
  }
}

console.log(row("jobs", names.map((name) => name === "plain" ? "statements only" : name)));
console.log(row(
  "inserted, enqueued, claimed, run and finished",
  names.map((name) => perSecond(rates[name], "jobs")),
  requiredGoal(
    `postgres at least ${MIN_JOBS_PER_SECOND} jobs/s`,
    median(rates.postgres) >= MIN_JOBS_PER_SECOND,
  ),
));
console.log(
  row("relative to the statements only", names.map((name) => ratio(rates[name], rates.plain))),
);
console.log(
  row(
    "one job, from its commit to its run, p50",
    names.map((name) => milliseconds(median(latencies[name]))),
  ),
);
console.log(
  row(
    "a transaction that inserts one job, p50",
    names.map((name) => milliseconds(median(writes[name]))),
  ),
);
console.log(row("relative to no queue", names.map((name) => ratio(writes[name], writes.plain))));

async function open(queue: Queue | null): Promise<Bench> {
  const url = await server.createDatabase(`jobs_${queue ?? "plain"}`);
  await migrate(url, await loadMigrations());
  const database = openDatabase({ url, poolSize: POOL_SIZE });
  const jobQueue = queue && await openQueue(queue, url, database);
  let stopWorker = () => Promise.resolve();
  const bench: Bench = {
    database,
    jobQueue,
    onRun: () => {},
    async [Symbol.asyncDispose]() {
      await stopWorker();
      await jobQueue?.[Symbol.asyncDispose]();
      await database.close();
    },
  };
  const tasks: Tasks = {
    noop: {
      retries: 0,
      firstDelayMs: 0,
      run: (job) => Promise.resolve(bench.onRun(job.id)),
    },
  };
  if (jobQueue) {
    const clock = systemClock;
    const worker = createWorker({
      database,
      tasks,
      jobQueue,
      clock,
      log,
      maxRunning: MAX_RUNNING_JOBS,
    });
    worker.start();
    jobQueue.start(worker.wake);
    stopWorker = () => worker.close(0);
  }
  return bench;
}

async function openQueue(
  queue: Queue,
  listenUrl: string,
  database: Database,
): Promise<OpenJobQueue> {
  const service = { clock: systemClock, log };
  if (queue === "postgres") return openPostgresQueue({ ...service, database, listenUrl });
  return await openKvQueue({ ...service, path: join(folder.path, JOBS_FILE) });
}

/** Jobs per second, from the first insert until the last job is finished. */
async function runAll(bench: Bench, count: number): Promise<number> {
  let runs = 0;
  const all = Promise.withResolvers<void>();
  bench.onRun = () => ++runs === count && all.resolve();
  const ms = await timed(async () => {
    for (let i = 0; i < count; i += BATCH_SIZE) await write(bench, BATCH_SIZE);
    if (!bench.jobQueue) await runStatements(bench);
    await all.promise;
    await waitUntilFinished(bench);
  });
  return count / (ms / 1000);
}

async function write({ database, jobQueue }: Bench, count: number): Promise<void> {
  const jobs = Array.from({ length: count }, makeJob);
  const written = await database.query((sql) => insertJobs(sql, jobs));
  for (const job of written) jobQueue?.enqueue(job);
}

function makeJob(): NewJob {
  const now = new Date();
  const subject = { id: crypto.randomUUID(), user_id: null };
  return newJob("noop", subject, {}, { runAt: now, now });
}

/** Claims and finishes all jobs without a queue, as many at the same time as a worker does. */
async function runStatements(bench: Bench): Promise<void> {
  const ids = await bench.database.query((sql) =>
    sql<{ id: string }[]>`select id from gateway.jobs where status = 'queued' order by run_at`
  );
  let next = 0;
  await Promise.all(Array.from({ length: MAX_RUNNING_JOBS }, async () => {
    while (next < ids.length) await claimAndFinish(bench, ids[next++]!.id);
  }));
}

async function claimAndFinish({ database, onRun }: Bench, id: string): Promise<void> {
  const now = new Date();
  const claim = { now, leaseMs: 30_000, thisInstance: NO_LOCK };
  const job = await database.query((sql) => claimJob(sql, id, claim));
  if (!job) throw new Error(`Job ${id} cannot be claimed`);
  onRun(id);
  const finished = { ...job, status: "succeeded", result: null, error: null } as const;
  await database.query((sql) => releaseJob(sql, job, finished, new Date()));
}

/** When the last jobs have run, their final status may not be stored yet. */
async function waitUntilFinished({ database }: Bench): Promise<void> {
  const findOpen = () =>
    database.query((sql) =>
      sql`select from gateway.jobs where status in ('queued', 'running') limit 1`
    );
  while ((await findOpen()).length > 0);
}

/** The median latency of jobs that run one after the other. */
async function measureLatency(bench: Bench): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < SEQUENTIAL_JOBS; i++) {
    const run = Promise.withResolvers<void>();
    const job = makeJob();
    bench.onRun = (id) => id === job.id && run.resolve();
    const written = await bench.database.query((sql) => insertJobs(sql, [job]));
    times.push(
      await timed(async () => {
        for (const inserted of written) bench.jobQueue?.enqueue(inserted);
        if (!bench.jobQueue) await claimAndFinish(bench, job.id);
        await run.promise;
      }),
    );
  }
  await waitUntilFinished(bench);
  return median(times);
}

/** The jobs are due in a day, so that no worker runs them during the measurement. */
async function measureWriteTime({ database }: Bench): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < WRITES; i++) {
    const job = { ...makeJob(), run_at: new Date(Date.now() + 24 * 3_600_000) };
    times.push(await timed(() => database.transaction((sql) => insertJobs(sql, [job]))));
  }
  await database.query((sql) => sql`delete from gateway.jobs where status = 'queued'`);
  return median(times);
}
