/** Carries jobs by a Deno KV queue in a file: on one machine, across restarts. */

import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { isMessage, type Message, type OpenJobQueue } from "./queue.ts";

/** In the data folder. It holds no more than what is on its way: the jobs are in the database. */
export const JOBS_FILE = "jobs.kv";

/** KV takes no longer delays; what is due later is left to the sweep. */
const LONGEST_DELAY_MS = 30 * 24 * 3_600_000;

export interface KvQueueOptions {
  path: string;
  clock: Clock;
  log: Log;
}

export async function openKvQueue({ path, clock, log }: KvQueueOptions): Promise<OpenJobQueue> {
  const kv = await Deno.openKv(path);
  const underWay = new Set<Promise<void>>();
  let listening = Promise.resolve();
  let isClosed = false;

  async function enqueue(message: Message, delay: number): Promise<void> {
    try {
      await kv.enqueue(message, { delay });
    } catch (error) {
      log.error("job_not_carried", error, { ...message });
    }
  }

  return {
    enqueue({ id, run_at }) {
      const delay = Math.max(0, run_at.getTime() - clock());
      if (isClosed || delay > LONGEST_DELAY_MS) return;
      const enqueued = enqueue({ job: id }, delay).finally(() => underWay.delete(enqueued));
      underWay.add(enqueued);
    },
    start(deliver) {
      listening = kv.listenQueue(async (message) => {
        if (isMessage(message)) await deliver(message.job);
      });
    },
    // There are no others: what is not run now is found at the next start.
    stop() {},
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await Promise.all(underWay);
      kv.close();
      await listening;
    },
  };
}
