/**
 * The idempotency keys that this instance could not release, because the database failed when their
 * request ended. The instance is alive, so its leases would last until their time is over, and
 * retries would be told that the request is still in progress.
 */

import type { Database } from "../connection/database.ts";
import { type ClaimedKey, endKey } from "./idempotency_keys.ts";

export interface KeyReleases extends AsyncDisposable {
  /** Releases the key of a request that has ended, as soon as the database responds. */
  add(key: ClaimedKey): void;
  /** Whether the request with this lease has ended. */
  has(leaseId: string | null): boolean;
  /** Another request has taken over the key. */
  remove(leaseId: string | null): void;
}

const RETRY_MS = 1_000;

/**
 * The result of the statement that claimed the key may have been lost. Until this time, it may
 * still be running, so that the key is not stored yet.
 */
const CLAIM_MS = 10_000;

export function createKeyReleases({ database }: { database: Database }): KeyReleases {
  const waiting = new Map<string | null, { key: ClaimedKey; since: number }>();
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
    for (const [leaseId, { key, since }] of waiting) {
      try {
        const isReleased = await database.query((sql) => endKey(sql, key, null), "end key");
        if (isReleased || performance.now() - since > CLAIM_MS) waiting.delete(leaseId);
      } catch {
        // The database still fails. The failed requests are in the log.
        return;
      }
    }
  }

  return {
    add(key) {
      waiting.set(key.lease_id, { key, since: performance.now() });
      schedule();
    },
    has: (leaseId) => waiting.has(leaseId),
    remove: (leaseId) => void waiting.delete(leaseId),
    async [Symbol.asyncDispose]() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
