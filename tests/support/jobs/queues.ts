/** Opens job queues of both kinds for tests, and workers that they wake. */

import { join } from "node:path";
import { systemClock } from "../../../core/time/clock.ts";
import type { Queue } from "../../../core/config/config.ts";
import { JOBS_FILE, openKvQueue } from "../../../core/jobs/kv_queue.ts";
import { openPostgresQueue, type PostgresQueueOptions } from "../../../core/jobs/postgres_queue.ts";
import type { OpenJobQueue } from "../../../core/jobs/queue.ts";
import { createWorker, type Worker, type WorkerOptions } from "../../../core/jobs/worker.ts";
import { insertJobs, type NewJob } from "../../../db/jobs/jobs.ts";
import { createDatabase } from "../database/database.ts";
import { createDataFolder } from "../project.ts";
import { type Instance, newJob, openInstance } from "./jobs.ts";

export const QUEUES: Queue[] = ["kv", "postgres"];

export interface TestQueue extends Instance {
  queue: Queue;
  databaseUrl: string;
  /** The folder of the kv queue's file. */
  folder: string;
  open(options?: Partial<TestQueueOptions>): Promise<OpenJobQueue>;
}

/** Has its own database, because a worker runs all jobs of its database. */
export async function openQueue(queue: Queue): Promise<TestQueue> {
  const databaseUrl = await createDatabase();
  const folder = await createDataFolder();
  const instance = openInstance({ databaseUrl });
  const { database, log } = instance;
  return {
    ...instance,
    queue,
    databaseUrl,
    folder: folder.path,
    open: (options) =>
      openTestQueue(queue, {
        database,
        listenUrl: databaseUrl,
        folder: folder.path,
        log,
        ...options,
      }),
    async [Symbol.asyncDispose]() {
      await instance[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

export interface TestQueueOptions extends Omit<PostgresQueueOptions, "clock"> {
  folder: string;
}

export async function openTestQueue(
  queue: Queue,
  { folder, ...options }: TestQueueOptions,
): Promise<OpenJobQueue> {
  const clock = systemClock;
  if (queue === "postgres") return openPostgresQueue({ ...options, clock });
  return await openKvQueue({ path: join(folder, JOBS_FILE), clock, log: options.log });
}

export type TestWorker = Worker & AsyncDisposable;

export type TestWorkerOptions = Pick<WorkerOptions, "tasks"> & Partial<WorkerOptions> & {
  /** By default true. */
  isPolling?: boolean;
};

/** A worker that polls and is woken by the queue; disposal closes it. */
export function startWorker(
  { database, log }: Pick<WorkerOptions, "database" | "log">,
  jobQueue: OpenJobQueue,
  { isPolling = true, ...options }: TestWorkerOptions,
): TestWorker {
  const service = { database, log, jobQueue, clock: systemClock, maxRunning: 8 };
  const worker = createWorker({ ...service, ...options });
  if (isPolling) worker.start();
  jobQueue.start(worker.wake);
  return { ...worker, [Symbol.asyncDispose]: () => worker.close(10_000) };
}

/** Writes jobs, and enqueues them after the commit. */
export async function writeJobs(
  { database }: Pick<Instance, "database">,
  jobQueue: OpenJobQueue,
  ...jobs: Partial<NewJob>[]
): Promise<string[]> {
  const written = await database.query((sql) => insertJobs(sql, jobs.map(newJob)));
  for (const job of written) jobQueue.enqueue(job);
  return written.map(({ id }) => id);
}
