/** Wakes the workers of any number of instances: its own directly, the others with NOTIFY. */

import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../../db/database.ts";
import { listen } from "../../db/listen.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { OpenJobQueue } from "./queue.ts";

/** The channel on which instances call each other. */
const CHANNEL = "gateway_jobs";

/** At most one NOTIFY per instance in this time: each of them locks the server for a moment. */
const CALL_MS = 50;

export interface PostgresQueueOptions {
  database: Database;
  /** The URL for the session that listens; null: no session listens, and polling finds the jobs. */
  listenUrl: string | null;
  clock: Clock;
  log: Log;
}

export function openPostgresQueue(options: PostgresQueueOptions): OpenJobQueue {
  const { database, listenUrl, clock, log } = options;
  let wakeWorker = () => {};
  let listening: AsyncDisposable | null = null;
  let calling: Promise<void> | null = null;

  /** Never in the transaction of a job: NOTIFY takes a lock of the whole server at the commit. */
  async function call(): Promise<void> {
    try {
      await database.query((sql) => sql`select pg_notify(${CHANNEL}, '')`, "notify of jobs");
      await delay(CALL_MS);
    } catch {
      // The other instances poll.
    } finally {
      calling = null;
    }
  }

  return {
    enqueue({ run_at }) {
      if (run_at.getTime() <= clock()) wakeWorker();
    },
    callOthers() {
      calling ??= call();
    },
    start(wake) {
      wakeWorker = wake;
      if (listenUrl === null) return;
      const onError = (error: unknown) => log.error("queue_interrupted", error);
      listening = listen({ url: listenUrl, channel: CHANNEL, onNotify: wake, onError });
    },
    async [Symbol.asyncDispose]() {
      wakeWorker = () => {};
      await listening?.[Symbol.asyncDispose]();
      await calling;
    },
  };
}
