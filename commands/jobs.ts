/** The background work of a service: job queue, worker and schedule. */

import { join } from "node:path";
import type { Config } from "../core/config/config.ts";
import { createEventWaker } from "../core/events/waker.ts";
import { checkOverdueInvoices } from "../core/invoices/check_overdue_invoices.ts";
import { JOBS_FILE, openKvQueue } from "../core/jobs/kv_queue.ts";
import { openPostgresQueue } from "../core/jobs/postgres_queue.ts";
import type { OpenJobQueue } from "../core/jobs/queue.ts";
import { createScheduler } from "../core/jobs/schedule.ts";
import { createWorker } from "../core/jobs/worker.ts";
import type { EventWaker, JobQueue } from "../core/records/outbox.ts";
import { checkPendingPayments } from "../core/payments/check_pending_payments.ts";
import { createSchedule } from "../core/tasks/schedule.ts";
import { createSecretBox } from "../core/secrets/secret_box.ts";
import { createTasks, type TaskDeps } from "../core/tasks/tasks.ts";
import { createPoster, type Poster } from "../core/webhooks/post.ts";
import { sweepDeliveries } from "../core/webhooks/sweep.ts";
import type { Recover } from "../db/connection/instance_lock.ts";
import type { Crons } from "./crons.ts";
import { MAX_BACKGROUND_CALLS } from "./gateway.ts";
import { Failure } from "./terminal.ts";

/** How many jobs run at the same time: so few that requests of callers are not slowed down. */
export const MAX_RUNNING_JOBS = 8;

/** How many asynchronous requests run at once. Leaves one gateway call free for other jobs. */
export const MAX_RUNNING_ASYNC_REQUESTS = MAX_BACKGROUND_CALLS - 1;

export interface Jobs extends AsyncDisposable {
  jobQueue: JobQueue;
  waker: EventWaker;
  poster: Poster;
  /** Starts running jobs, including those that an earlier process did not finish. */
  start(): void;
  /**
   * Runs the deliveries of instances that have ended. False: `stop` was called meanwhile.
   */
  recover: Recover;
  /** Starts no more jobs, and waits up to `graceMs` for running ones. */
  stop(graceMs: number): Promise<void>;
}

export type JobsDeps = Omit<TaskDeps, "waker" | "jobQueue" | "poster" | "secrets">;

export interface JobsConfig
  extends Pick<Config, "queue" | "dataDir" | "gateway" | "webhookAllowPrivate" | "isDenoDeploy"> {
  /** URL of the database, configured or embedded, without a pooler in transaction mode. */
  databaseUrl: string;
}

export async function openJobs(config: JobsConfig, deps: JobsDeps, crons: Crons): Promise<Jobs> {
  const jobQueue = await openJobQueue(config, deps);
  const secrets = createSecretBox(config.gateway.serverKey);
  const waker = createEventWaker({ ...deps, jobQueue });
  const poster = createPoster({ allowPrivate: config.webhookAllowPrivate });
  const taskDeps = { ...deps, jobQueue, waker, poster, secrets };
  const worker = createWorker({
    ...taskDeps,
    tasks: createTasks(taskDeps),
    maxRunning: MAX_RUNNING_JOBS,
    maxRequests: MAX_RUNNING_ASYNC_REQUESTS,
  });
  const scheduleDeps = { ...taskDeps, worker };
  const stopping = Promise.withResolvers<void>();
  let isStopped = false;
  // A sweep that a stop cuts off has not failed: the next start sweeps again.
  const logFailure = (error: unknown) => isStopped || deps.log.error("sweep_failed", error);
  crons.start(createScheduler(deps, createSchedule(scheduleDeps)));
  return {
    jobQueue,
    waker,
    poster,
    start() {
      worker.start();
      jobQueue.start(worker.wake);
      // Finds work that an earlier process did not finish, such as a charge during which it
      // crashed.
      const sweeps = [checkPendingPayments, checkOverdueInvoices, sweepDeliveries];
      Promise.all(sweeps.map((sweep) => sweep(scheduleDeps))).catch(logFailure);
    },
    async recover() {
      if (isStopped) return false;
      await Promise.race([sweepDeliveries(scheduleDeps).catch(logFailure), stopping.promise]);
      return !isStopped;
    },
    async stop(graceMs) {
      isStopped = true;
      stopping.resolve();
      crons.stop();
      await worker.close(graceMs);
    },
    async [Symbol.asyncDispose]() {
      await poster[Symbol.asyncDispose]();
      await waker[Symbol.asyncDispose]();
      await jobQueue[Symbol.asyncDispose]();
    },
  };
}

async function openJobQueue(
  { queue, databaseUrl, dataDir, isDenoDeploy }: JobsConfig,
  deps: JobsDeps,
): Promise<OpenJobQueue> {
  // A database of Deno Deploy allows few connections, so no session listens.
  const listenUrl = isDenoDeploy ? null : databaseUrl;
  if (queue === "postgres") return openPostgresQueue({ ...deps, listenUrl });
  const path = join(dataDir, JOBS_FILE);
  return await openKvQueue({ ...deps, path }).catch((error) => {
    throw new Failure(
      `Cannot open the job queue ${path}: ${error.message}. Delete this file and start again; no ` +
        "job is lost, because the database has all jobs.",
    );
  });
}
