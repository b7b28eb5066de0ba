/** Carries jobs by a Deno KV queue in a file: on one machine, across restarts. */

import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { OpenCarrier } from "./carrier.ts";

/** In the data folder. It holds no more than what is on its way: the jobs are in the database. */
export const JOBS_FILE = "jobs.kv";

/** KV takes no longer delays; what is due later is left to the sweep. */
const LONGEST_DELAY_MS = 30 * 24 * 3_600_000;

/** Only the id travels: what is to be done is in the row. */
interface Message {
  job: string;
}

export interface KvCarrierOptions {
  path: string;
  clock: Clock;
  log: Log;
}

export async function openKvCarrier({ path, clock, log }: KvCarrierOptions): Promise<OpenCarrier> {
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
    carry({ id, run_at }) {
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
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await Promise.all(underWay);
      kv.close();
      await listening;
    },
  };
}

/** The file outlives the program that wrote it. */
function isMessage(message: unknown): message is Message {
  return typeof message === "object" && message !== null && "job" in message &&
    typeof message.job === "string";
}
