/** The background work of a service: job queue, worker and schedule. */

import { join } from "node:path";
import { unlessAborted, waitAtMost } from "../concurrency/deadlines.ts";
import type { Config } from "../core/config/config.ts";
import { checkOverdueInvoices } from "../core/invoices/check_overdue_invoices.ts";
import { JOBS_FILE, openKvQueue } from "../core/jobs/kv_queue.ts";
import { openPostgresQueue } from "../core/jobs/postgres_queue.ts";
import type { OpenJobQueue } from "../core/jobs/queue.ts";
import { createScheduler } from "../core/jobs/schedule.ts";
import { createWorker } from "../core/jobs/worker.ts";
import { checkPendingPayments } from "../core/payments/check_pending_payments.ts";
import type { Service } from "../core/service.ts";
import { createSchedule } from "../core/tasks/schedule.ts";
import { createTasks } from "../core/tasks/tasks.ts";
import { sweepDeliveries } from "../core/webhooks/sweep.ts";
import type { RegisteredHandler } from "../core/handlers/events.ts";
import type { Recover } from "../db/connection/instance_lock.ts";
import type { Crons } from "./crons.ts";
import { MAX_BACKGROUND_CALLS } from "./gateway.ts";
import { Failure } from "./terminal.ts";

/** How many jobs run at the same time: so few that requests of callers are not slowed down. */
export const MAX_RUNNING_JOBS = 8;

/** How many asynchronous requests run at once. Leaves one gateway call free for other jobs. */
export const MAX_RUNNING_ASYNC_REQUESTS = MAX_BACKGROUND_CALLS - 1;

export interface Jobs {
  /** Starts running jobs, including those that an earlier process did not finish. */
  start(): void;
  /**
   * Runs the deliveries of instances that have ended. False: `stop` was called meanwhile.
   */
  recover: Recover;
  /** Starts no more jobs and scheduled tasks, and waits up to `graceMs` for running ones. */
  stop(graceMs: number): Promise<void>;
}

export interface JobsOptions {
  /** The queue of `service`, which wakes the worker. */
  jobQueue: OpenJobQueue;
  /** The handlers to which jobs deliver events. */
  handlers: readonly RegisteredHandler[];
  crons: Crons;
}

/** `service`: its calls of the gateway are those of the background. */
export function createJobs(
  service: Service,
  { jobQueue, handlers, crons }: JobsOptions,
): Jobs {
  const worker = createWorker({
    ...service,
    tasks: createTasks(service, handlers),
    maxRunning: MAX_RUNNING_JOBS,
    maxRequests: MAX_RUNNING_ASYNC_REQUESTS,
  });
  const stop = new AbortController();
  const stopping = stop.signal;
  // A sweep that a stop cuts off has not failed: the next start sweeps again.
  const logFailure = (error: unknown) =>
    stopping.aborted || service.log.error("sweep_failed", error);
  const scheduler = createScheduler(service, createSchedule({ ...service, worker, stopping }));
  crons.start(scheduler.runDue);
  return {
    start() {
      worker.start();
      jobQueue.start(worker.wake);
      // Finds work that an earlier process did not finish, such as a charge during which it
      // crashed.
      const sweeps = [checkPendingPayments, checkOverdueInvoices, sweepDeliveries];
      Promise.all(sweeps.map((sweep) => sweep(service))).catch(logFailure);
    },
    async recover() {
      if (stopping.aborted) return false;
      const sweep = sweepDeliveries(service).catch(logFailure);
      await unlessAborted(sweep, stopping).catch(() => {});
      return !stopping.aborted;
    },
    async stop(graceMs) {
      stop.abort();
      crons.stop();
      await Promise.all([worker.close(graceMs), waitAtMost(graceMs, scheduler.idle())]);
    },
  };
}

export async function openJobQueue(
  { queue, dataDir, isDenoDeploy }: Pick<Config, "queue" | "dataDir" | "isDenoDeploy">,
  service: Pick<Service, "database" | "databaseUrl" | "clock" | "log">,
): Promise<OpenJobQueue> {
  // A database of Deno Deploy allows few connections, so none listens.
  const listenUrl = isDenoDeploy ? null : service.databaseUrl;
  if (queue === "postgres") return openPostgresQueue({ ...service, listenUrl });
  const path = join(dataDir, JOBS_FILE);
  return await openKvQueue({ ...service, path }).catch((error) => {
    throw new Failure(
      `Cannot open the job queue ${path}: ${error.message}. Delete this file and start again; no ` +
        "job is lost, because the database has all jobs.",
    );
  });
}
