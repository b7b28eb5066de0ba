/** Carries jobs by graphile-worker, through PostgreSQL itself: between any number of instances. */

import { enqueueAgain, openQueuePool, QUEUE_SCHEMA, QUEUE_TASK } from "../../db/queue.ts";
import { waitAtMost } from "../../db/within.ts";
import type { Log } from "../log.ts";
import { type Deliver, isMessage, type OpenJobQueue } from "./queue.ts";

export interface PostgresQueueOptions {
  databaseUrl: string;
  log: Log;
  placeMs?: number;
}

/** Places: so many jobs are brought at once. */
const AT_ONCE = 32;

/**
 * For how long a job keeps its place. One that is slow, or waits for others of its kind, is on its
 * way for as long as that takes, but holds up nobody who comes after it.
 */
const PLACE_MS = 1_000;

/** How long what was fetched and found no place is kept from other instances. */
const KEEP_MS = 2_000;

/** One of them listens. */
const CONNECTIONS = 3;

/** Jobs are told of at once; this is for those whose time comes by itself. */
const POLL_MS = 1_000;

const RESTART_MS = 2_000;

/** How long an end waits for a database that does not answer. */
const CLOSE_MS = 3_000;

/** There is nothing to be carried: what is to be run came there with its row (`db/queue.ts`). */
export function openPostgresQueue(options: PostgresQueueOptions): OpenJobQueue {
  const { databaseUrl, log, placeMs = PLACE_MS } = options;
  const closing = Promise.withResolvers<void>();
  /** Those that the queue has forgotten, and that may still wait for their turn here. */
  const taken = new Set<string>();
  let left: string[] = [];
  let isClosing = false;
  let running = Promise.resolve();

  function stop() {
    if (!isClosing) left = [...taken];
    isClosing = true;
    closing.resolve();
  }

  async function keepRunning(deliver: Deliver): Promise<void> {
    while (!isClosing) {
      try {
        await run(deliver);
      } catch (error) {
        // The database is away; jobs are rows there, and wait.
        note(error);
      }
      await waitAtMost(RESTART_MS, closing.promise);
    }
  }

  async function run(deliver: Deliver): Promise<void> {
    const { Logger, run } = await import("graphile-worker");
    await using connections = await openQueuePool({
      url: databaseUrl,
      size: CONNECTIONS,
      onError: note,
    });
    const broken = Promise.withResolvers<void>();
    const runner = await run({
      pgPool: connections.pool,
      schema: QUEUE_SCHEMA,
      taskList: { [QUEUE_TASK]: (payload) => bring(deliver, payload) },
      parsedCronItems: [],
      concurrency: AT_ONCE,
      pollInterval: POLL_MS,
      noHandleSignals: true,
      // Nobody listens to the signal that this is about.
      gracefulShutdownAbortTimeout: 0,
      // One asks for all, instead of each place for itself, and what is over is told together.
      preset: {
        worker: {
          localQueue: { size: AT_ONCE, ttl: KEEP_MS },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
      logger: new Logger(() => (level, message, meta) => {
        if (level !== "error" || isClosing) return;
        note(meta?.error instanceof Error ? meta.error : new Error(message));
        // It would not notice that nobody listens any more, so it begins anew.
        connections.drop();
        broken.resolve();
      }),
    });
    await Promise.race([runner.promise, broken.promise, closing.promise]);
    // It may have ended by itself, or not be able to.
    await waitAtMost(CLOSE_MS, runner.stop().catch(() => {}));
    // What has not begun is for others; where they cannot be told, their sweep finds it.
    if (isClosing) await waitAtMost(CLOSE_MS, enqueueAgain(connections.pool, left).catch(() => {}));
  }

  async function bring(deliver: Deliver, payload: unknown): Promise<void> {
    if (!isMessage(payload)) return;
    const { job, kind } = payload;
    let isOver = false;
    const delivered = deliver(job, kind).then(() => {
      isOver = true;
      taken.delete(job);
    });
    await waitAtMost(placeMs, delivered);
    // Whether it was run or turned away nobody knows any more, so it is brought to another, too.
    if (isClosing) throw new Error("This instance is stopping");
    if (!isOver) taken.add(job);
  }

  function note(error: unknown): void {
    if (!isClosing) log.error("queue_interrupted", error);
  }

  return {
    enqueue() {},
    start(deliver) {
      running = keepRunning(deliver);
    },
    stop,
    async [Symbol.asyncDispose]() {
      stop();
      await running;
    },
  };
}
