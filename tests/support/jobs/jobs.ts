/** Jobs in a test: rows in a real database, and an instance that runs them on demand. */

import { randomUUID } from "node:crypto";
import type { Task, Tasks } from "../../../core/jobs/task.ts";
import { createWorker, type Worker } from "../../../core/jobs/worker.ts";
import type { JobQueue } from "../../../core/service.ts";
import { createLog } from "../../../core/telemetry/log.ts";
import type { Database } from "../../../db/connection/database.ts";
import type { ThisInstance } from "../../../db/connection/instance_lock.ts";
import {
  type DueJob,
  findJob,
  type GatewayJob,
  insertJobs,
  type NewJob,
} from "../../../db/jobs/jobs.ts";
import { openPool } from "../database/pools.ts";

export interface InstanceOptions {
  databaseUrl: string;
  tasks?: Tasks;
  now?: () => number;
  maxRunning?: number;
  limitMs?: number;
  leaseMs?: number;
  thisInstance?: ThisInstance;
  /** How long a statement may take. */
  deadlineMs?: number;
}

export interface Instance extends AsyncDisposable {
  database: Database;
  worker: Worker;
  /** The jobs it has enqueued, in order; they are not delivered. */
  enqueued: DueJob[];
  jobQueue: JobQueue;
  insert(job?: Partial<NewJob>): Promise<string>;
  find(id: string): Promise<GatewayJob>;
  log: ReturnType<typeof createLog>;
  /** The log so far. */
  logged(): string;
}

export function openInstance(options: InstanceOptions): Instance {
  const { databaseUrl, tasks = {}, now = Date.now, maxRunning = 10, deadlineMs } = options;
  const database = openPool({ url: databaseUrl, poolSize: 4, deadlineMs });
  let text = "";
  const log = createLog((lines) => text += lines);
  const enqueued: DueJob[] = [];
  const jobQueue: JobQueue = {
    enqueue: ({ id, run_at }) => enqueued.push({ id, run_at }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const worker = createWorker({
    ...options,
    database,
    tasks,
    jobQueue,
    clock: now,
    log,
    maxRunning,
  });
  return {
    database,
    worker,
    enqueued,
    jobQueue,
    log,
    async insert(job) {
      const one = newJob({ run_at: new Date(now()), created_at: new Date(now()), ...job });
      await database.query((sql) => insertJobs(sql, [one]));
      return one.id;
    },
    async find(id) {
      const job = await database.query((sql) => findJob(sql, id));
      if (!job) throw new Error(`There is no job ${id}`);
      return job;
    },
    logged() {
      log.flush();
      return text;
    },
    async [Symbol.asyncDispose]() {
      await worker.close(0);
      log.flush();
      await database.close();
    },
  };
}

export function newJob(job: Partial<NewJob> = {}): NewJob {
  return {
    id: randomUUID(),
    task: "greet",
    subject_id: null,
    payload: {},
    user_id: null,
    run_at: new Date(),
    created_at: new Date(),
    ...job,
  };
}

export function task(run: Task["run"], options: Partial<Task> = {}): Task {
  return { retries: 3, firstDelayMs: 60_000, ...options, run };
}
