/** Opens job queues of both kinds for tests. */

import { join } from "node:path";
import { systemClock } from "../../../core/clock.ts";
import type { Queue } from "../../../core/config/config.ts";
import { JOBS_FILE, openKvQueue } from "../../../core/jobs/kv_queue.ts";
import { openPostgresQueue, type PostgresQueueOptions } from "../../../core/jobs/postgres_queue.ts";
import type { OpenJobQueue } from "../../../core/jobs/queue.ts";
import { createWorker, type Worker, type WorkerOptions } from "../../../core/jobs/worker.ts";
import { setUpQueue } from "../../../db/queue.ts";
import { createDatabase } from "../database/database.ts";
import { createDataFolder } from "../project.ts";
import { type Instance, openInstance } from "./jobs.ts";

export const QUEUES: Queue[] = ["kv", "postgres"];

export interface TestQueue extends Instance {
  queue: Queue;
  databaseUrl: string;
  /** The folder of the kv queue's file. */
  folder: string;
  open(options?: Partial<TestQueueOptions>): Promise<OpenJobQueue>;
}

/** Has its own database, because an open queue receives all jobs of its database. */
export async function openQueue(queue: Queue): Promise<TestQueue> {
  const databaseUrl = await createDatabase();
  await setUpQueue(databaseUrl, queue);
  const folder = await createDataFolder();
  const instance = openInstance({ databaseUrl });
  return {
    ...instance,
    queue,
    databaseUrl,
    folder: folder.path,
    open: (options) =>
      openTestQueue(queue, { databaseUrl, folder: folder.path, log: instance.log, ...options }),
    async [Symbol.asyncDispose]() {
      await instance[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

export interface TestQueueOptions extends PostgresQueueOptions {
  folder: string;
}

export async function openTestQueue(
  queue: Queue,
  options: TestQueueOptions,
): Promise<OpenJobQueue> {
  if (queue === "postgres") return openPostgresQueue(options);
  const path = join(options.folder, JOBS_FILE);
  return await openKvQueue({ path, clock: systemClock, log: options.log });
}

/** A worker that gets its jobs from the queue. */
export function startWorker(
  { database, log }: Pick<WorkerOptions, "database" | "log">,
  jobQueue: OpenJobQueue,
  options: Pick<WorkerOptions, "tasks"> & Partial<WorkerOptions>,
): Worker {
  const deps = { database, log, jobQueue, clock: systemClock, maxRunning: 8 };
  const worker = createWorker({ ...deps, ...options });
  jobQueue.start(worker.run);
  return worker;
}
