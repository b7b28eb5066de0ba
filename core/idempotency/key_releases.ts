/**
 * The idempotency keys that this instance could not release, because the database failed when their
 * request ended. The instance is alive, so its leases would last until their time is over, and
 * retries would be told that the request is still in progress.
 */

import type { Database } from "../../db/database.ts";
import { endKey, type HeldKey, nameOf } from "../../db/idempotency_keys.ts";
import type { Clock } from "../clock.ts";

export interface KeyReleases extends AsyncDisposable {
  /** Releases the key of a request that has ended, as soon as the database responds. */
  add(key: HeldKey): void;
  /** Whether the request that held this lease has ended. */
  has(key: HeldKey): boolean;
  /** Another request has taken over the key. */
  remove(key: HeldKey): void;
}

const RETRY_MS = 1_000;

/**
 * The result of the statement that claimed the key may have been lost. Until this time, it may
 * still be running, so that the key is not stored yet.
 */
const CLAIM_MS = 10_000;

export function createKeyReleases(
  { database, clock }: { database: Database; clock: Clock },
): KeyReleases {
  const waiting = new Map<string, { key: HeldKey; since: number }>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<void> | null = null;
  let isStopped = false;

  function schedule() {
    if (isStopped || timer !== undefined || waiting.size === 0) return;
    timer = setTimeout(() => {
      running = releaseAll().finally(() => {
        timer = undefined;
        running = null;
        schedule();
      });
    }, RETRY_MS);
  }

  async function releaseAll(): Promise<void> {
    for (const [name, { key, since }] of waiting) {
      try {
        const now = new Date(clock());
        const isReleased = await database.query((sql) => endKey(sql, key, null, now), "end key");
        if (isReleased || performance.now() - since > CLAIM_MS) waiting.delete(name);
      } catch {
        // The database still fails. The failed requests are in the log.
        return;
      }
    }
  }

  return {
    add(key) {
      waiting.set(leaseName(key), { key, since: performance.now() });
      schedule();
    },
    has: (key) => waiting.has(leaseName(key)),
    remove: (key) => void waiting.delete(leaseName(key)),
    async [Symbol.asyncDispose]() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** Another request with the same key has another lease. */
function leaseName({ lease_until, holder, ...id }: HeldKey): string {
  return `${nameOf(id)} ${lease_until.getTime()} ${holder}`;
}
