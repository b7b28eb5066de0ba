/**
 * Wakes the workers of any number of instances: its own directly, and the others with NOTIFY if its
 * own is full. Workers also poll, so a lost message delays a job by at most a second.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../../db/connection/database.ts";
import { listen } from "../../db/connection/listen.ts";
import type { Clock } from "../time/clock.ts";
import type { Log } from "../telemetry/log.ts";
import type { OpenJobQueue } from "./queue.ts";

/** The channel on which instances call each other. */
const CHANNEL = "gateway_jobs";

/** At most one NOTIFY per instance in this time: each of them locks the server for a moment. */
const CALL_MS = 50;

export interface PostgresQueueOptions {
  database: Database;
  /** The URL of the connection that listens; null: none listens, and polling finds the jobs. */
  listenUrl: string | null;
  clock: Clock;
  log: Log;
}

export function openPostgresQueue(options: PostgresQueueOptions): OpenJobQueue {
  const { database, listenUrl, clock, log } = options;
  let wakeWorker: (() => Promise<boolean>) | null = null;
  let listening: AsyncDisposable | null = null;
  let calling = Promise.resolve();
  let isCalling = false;
  let mustCall = false;

  /** Woken here first: with one instance, or with free places, no NOTIFY is needed. */
  async function wakeOne(): Promise<void> {
    const isFull = await wakeWorker?.();
    if (!isFull) return;
    mustCall = true;
    if (!isCalling) calling = callOthers();
  }

  /** Never in the transaction of a job: NOTIFY takes a lock of the whole server at the commit. */
  async function callOthers(): Promise<void> {
    isCalling = true;
    while (mustCall && wakeWorker) {
      mustCall = false;
      try {
        await database.query((sql) => sql`select pg_notify(${CHANNEL}, '')`, "signal workers");
      } catch {
        // The other instances poll.
      }
      await delay(CALL_MS);
    }
    isCalling = false;
  }

  return {
    enqueue({ run_at }) {
      if (run_at.getTime() <= clock()) void wakeOne();
    },
    start(wake) {
      wakeWorker = wake;
      if (listenUrl === null) return;
      let isInterrupted = false;
      listening = listen({
        url: listenUrl,
        name: "payment-gateway jobs",
        channel: CHANNEL,
        onSignal() {
          isInterrupted = false;
          void wake();
        },
        onError(error) {
          if (!isInterrupted) log.error("queue_notifications_failed", error);
          isInterrupted = true;
        },
      });
    },
    async [Symbol.asyncDispose]() {
      wakeWorker = null;
      await listening?.[Symbol.asyncDispose]();
      await calling;
    },
  };
}
