/** A job queue in PostgreSQL (graphile-worker), shared by any number of instances. */

import { waitAtMost } from "../../concurrency/deadlines.ts";
import { enqueueAgain, openQueuePool, QUEUE_SCHEMA, QUEUE_TASK } from "../../db/queue.ts";
import type { Log } from "../log.ts";
import { isMessage, type OpenJobQueue, type RunJob } from "./queue.ts";

export interface PostgresQueueOptions {
  databaseUrl: string;
  log: Log;
  isDenoDeploy?: boolean;
  slotMs?: number;
}

/** Slots of graphile-worker: how many jobs it hands over at a time. */
const CONCURRENCY = 32;

/**
 * How long a job occupies its slot. A job that is slow, or waits for its lane in the worker,
 * continues without a slot, so that it does not delay the jobs behind it.
 */
const SLOT_MS = 1_000;

/** How long fetched jobs wait for a slot before they go back to the queue, for other instances. */
const PREFETCH_MS = 2_000;

/** Database connections; one of them listens for notifications. */
const CONNECTIONS = 3;

/** A database of Deno Deploy allows few connections. */
const CONNECTIONS_ON_DENO_DEPLOY = 2;

/** PostgreSQL notifies of new jobs; polling finds jobs that have become due. */
const POLL_MS = 1_000;

const RESTART_MS = 2_000;

/** How long closing waits for a database that does not respond. */
const CLOSE_MS = 3_000;

/**
 * `enqueue` does nothing: a trigger writes the message in the transaction of the job
 * (`db/queue.ts`).
 */
export function openPostgresQueue(options: PostgresQueueOptions): OpenJobQueue {
  const { databaseUrl, log, isDenoDeploy = false, slotMs = SLOT_MS } = options;
  const closing = Promise.withResolvers<void>();
  /** Jobs that gave up their slot, so graphile-worker has deleted their messages. */
  const withoutSlot = new Set<string>();
  /** The jobs in `withoutSlot` when the queue was stopped. */
  let unfinished: string[] = [];
  let isClosing = false;
  let running = Promise.resolve();

  function stop() {
    if (!isClosing) unfinished = [...withoutSlot];
    isClosing = true;
    closing.resolve();
  }

  async function keepRunning(runJob: RunJob): Promise<void> {
    while (!isClosing) {
      try {
        await runOnce(runJob);
      } catch (error) {
        // The database is unavailable. No job is lost: jobs are rows in the database.
        logInterruption(error);
      }
      await waitAtMost(RESTART_MS, closing.promise);
    }
  }

  async function runOnce(runJob: RunJob): Promise<void> {
    const { Logger, run } = await import("graphile-worker");
    await using connections = await openQueuePool({
      url: databaseUrl,
      size: isDenoDeploy ? CONNECTIONS_ON_DENO_DEPLOY : CONNECTIONS,
      onError: logInterruption,
    });
    const broken = Promise.withResolvers<void>();
    const runner = await run({
      pgPool: connections.pool,
      schema: QUEUE_SCHEMA,
      taskList: { [QUEUE_TASK]: (payload) => runMessage(runJob, payload) },
      parsedCronItems: [],
      concurrency: CONCURRENCY,
      pollInterval: POLL_MS,
      noHandleSignals: true,
      // The abort signal of graphile-worker is not used here, so there is nothing to wait for.
      gracefulShutdownAbortTimeout: 0,
      // One query fetches jobs for all slots, and completed jobs are reported in batches.
      preset: {
        worker: {
          localQueue: { size: CONCURRENCY, ttl: PREFETCH_MS },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
      logger: new Logger(() => (level, message, meta) => {
        if (level !== "error" || isClosing) return;
        logInterruption(meta?.error instanceof Error ? meta.error : new Error(message));
        // graphile-worker does not notice that its listening connection is lost: restart it.
        connections.drop();
        broken.resolve();
      }),
    });
    await Promise.race([runner.promise, broken.promise, closing.promise]);
    // `runner.stop` rejects if the runner has ended, and hangs if the database does not respond.
    await waitAtMost(CLOSE_MS, runner.stop().catch(() => {}));
    // Other instances then run the unfinished jobs. If this fails, a sweep finds the jobs.
    if (isClosing) {
      await waitAtMost(CLOSE_MS, enqueueAgain(connections.pool, unfinished).catch(() => {}));
    }
  }

  async function runMessage(runJob: RunJob, payload: unknown): Promise<void> {
    if (!isMessage(payload)) return;
    const { job, kind } = payload;
    let isOver = false;
    const run = runJob(job, kind).then(() => {
      isOver = true;
      withoutSlot.delete(job);
    });
    await waitAtMost(slotMs, run);
    // A closing worker rejects jobs, so this one may not have run: throwing keeps its message for
    // another instance.
    if (isClosing) throw new Error("This instance is stopping");
    if (!isOver) withoutSlot.add(job);
  }

  function logInterruption(error: unknown): void {
    if (!isClosing) log.error("queue_interrupted", error);
  }

  return {
    enqueue() {},
    start(runJob) {
      running = keepRunning(runJob);
    },
    stop,
    async [Symbol.asyncDispose]() {
      stop();
      await running;
    },
  };
}
