/** The work of a service that nobody waits for: its queue, its worker and its schedule. */

import { join } from "node:path";
import type { Config } from "../core/config/config.ts";
import { createEventPublisher } from "../core/events/publisher.ts";
import { checkOverdueInvoices } from "../core/invoices/check_overdue_invoices.ts";
import { JOBS_FILE, openKvQueue } from "../core/jobs/kv_queue.ts";
import { openPostgresQueue } from "../core/jobs/postgres_queue.ts";
import type { OpenJobQueue } from "../core/jobs/queue.ts";
import { sweepJobs, tick } from "../core/jobs/schedule.ts";
import { createWorker } from "../core/jobs/worker.ts";
import type { EventPublisher, JobQueue } from "../core/outbox.ts";
import { checkPendingPayments } from "../core/payments/check_pending_payments.ts";
import { createSchedule } from "../core/schedule.ts";
import { createSecretBox } from "../core/secret_box.ts";
import { createTasks, type TaskDeps } from "../core/tasks.ts";
import { createPoster, type Poster } from "../core/webhooks/post.ts";
import { sweepDeliveries } from "../core/webhooks/sweep.ts";
import { Failure } from "./failure.ts";

/** A small share of what the gateway and the database can take, so that callers never wait for it. */
export const MAX_RUNNING = 8;

export interface Jobs extends AsyncDisposable {
  jobQueue: JobQueue;
  publisher: EventPublisher;
  poster: Poster;
  /** Begins with what is due, and what an earlier run left behind. */
  start(): void;
  /** Begins nothing more, and waits for what runs, but no longer than told. */
  stop(graceMs: number): Promise<void>;
}

export type JobsDeps = Omit<TaskDeps, "publisher" | "jobQueue" | "poster" | "secrets">;

export interface JobsConfig
  extends Pick<Config, "queue" | "dataDir" | "gateway" | "webhookAllowPrivate"> {
  /** Of the database that is used, be it the embedded one. */
  databaseUrl: string;
}

export async function openJobs(config: JobsConfig, deps: JobsDeps): Promise<Jobs> {
  const jobQueue = await openCarrier(config, deps);
  const secrets = createSecretBox(config.gateway.serverKey);
  const publisher = createEventPublisher({ ...deps, jobQueue });
  const poster = createPoster({ allowPrivate: config.webhookAllowPrivate });
  const taskDeps = { ...deps, jobQueue, publisher, poster, secrets };
  const worker = createWorker({
    ...taskDeps,
    tasks: createTasks(taskDeps),
    maxRunning: MAX_RUNNING,
  });
  const scheduleDeps = { ...taskDeps, runJob: worker.run };
  const crons = new AbortController();
  // Deno Deploy wants to know of them before there is a server.
  for (const entry of createSchedule(scheduleDeps)) {
    Deno.cron(entry.name, entry.cron, { signal: crons.signal }, () => tick(deps, entry));
  }
  return {
    jobQueue,
    publisher,
    poster,
    start() {
      jobQueue.start(worker.run);
      // What an earlier run left behind, a charge that it died in included.
      const found = [sweepJobs, checkPendingPayments, checkOverdueInvoices, sweepDeliveries];
      Promise.all(found.map((look) => look(scheduleDeps)))
        .catch((error) => deps.log.error("sweep_failed", error));
    },
    async stop(graceMs) {
      crons.abort();
      jobQueue.stop();
      await worker.close(graceMs);
    },
    async [Symbol.asyncDispose]() {
      await poster[Symbol.asyncDispose]();
      await publisher[Symbol.asyncDispose]();
      await jobQueue[Symbol.asyncDispose]();
    },
  };
}

async function openCarrier(
  { queue, databaseUrl, dataDir }: JobsConfig,
  deps: JobsDeps,
): Promise<OpenJobQueue> {
  if (queue === "postgres") return openPostgresQueue({ ...deps, databaseUrl });
  const path = join(dataDir, JOBS_FILE);
  return await openKvQueue({ ...deps, path }).catch((error) => {
    throw new Failure(
      `The queue in ${path} cannot be used (${error.message}). Remove the file: no job is lost.`,
    );
  });
}
