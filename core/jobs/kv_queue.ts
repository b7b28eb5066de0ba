/** Wakes the worker of the only instance with messages in a Deno KV file. */

import type { Clock } from "../time/clock.ts";
import type { Log } from "../telemetry/log.ts";
import type { OpenJobQueue } from "./queue.ts";

/** The queue's file in the data folder. It holds only messages: the jobs are in the database. */
export const JOBS_FILE = "jobs.kv";

/** The longest delay that Deno KV accepts; polling finds jobs that are due later. */
const MAX_DELAY_MS = 30 * 24 * 3_600_000;

export interface KvQueueOptions {
  path: string;
  clock: Clock;
  log: Log;
}

export async function openKvQueue({ path, clock, log }: KvQueueOptions): Promise<OpenJobQueue> {
  const kv = await Deno.openKv(path);
  const sending = new Set<Promise<void>>();
  let listening = Promise.resolve();
  let isClosed = false;

  async function send(job: string, delay: number): Promise<void> {
    try {
      await kv.enqueue({ job }, { delay });
    } catch (error) {
      log.error("job_not_enqueued", error, { job });
    }
  }

  return {
    enqueue({ id, run_at }) {
      const delay = Math.max(0, run_at.getTime() - clock());
      if (isClosed || delay > MAX_DELAY_MS) return;
      const sent = send(id, delay).finally(() => sending.delete(sent));
      sending.add(sent);
    },
    start(wake) {
      listening = kv.listenQueue(() => void wake());
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await Promise.all(sending);
      kv.close();
      await listening;
    },
  };
}
