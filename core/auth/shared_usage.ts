/**
 * Counts the requests of callers over all instances. A request never waits for it: each instance
 * has its own buckets. From time to time it reports to PostgreSQL how many requests it has
 * accepted, and reads how many each caller may still send. While the database does not respond,
 * each instance applies the limit alone.
 */

import { type Database, DatabaseUnavailable } from "../../db/connection/database.ts";
import { deleteFullBuckets, reportUsage } from "../../db/access/shared_rate_limits.ts";
import type { Config } from "../config/config.ts";
import type { Log } from "../telemetry/log.ts";

export interface SharedUsage extends AsyncDisposable {
  /** The callback gets what is left for the caller; negative: more was accepted than allowed. */
  onTokens(callback: (userId: string, tokens: number) => void): void;
  /** Counts an accepted request of the caller. */
  add(userId: string): void;
}

/** The longest time until the other instances know of a request. */
const EXCHANGE_MS = 1_000;

/** An exchange starts at once if a caller has used this share of the burst. */
const EARLY_SHARE = 0.1;

const DELETE_MS = 10 * 60_000;

export interface SharedUsageOptions {
  database: Database;
  log: Log;
  limit: Config["rateLimit"];
}

export function createSharedUsage({ database, log, limit }: SharedUsageOptions): SharedUsage {
  const used = new Map<string, number>();
  const earlyCount = Math.max(1, Math.floor(limit.burst * EARLY_SHARE));
  let setTokens: (userId: string, tokens: number) => void = () => {};
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<void> | null = null;
  let deletedAt = performance.now();
  let isClosed = false;

  function startExchange(): void {
    clearTimeout(timer);
    timer = undefined;
    running = exchange().then((hasSucceeded) => {
      running = null;
      if (isClosed || used.size === 0) return;
      const isEarly = hasSucceeded && [...used.values()].some((count) => count >= earlyCount);
      if (isEarly) startExchange();
      else timer = setTimeout(startExchange, EXCHANGE_MS);
    });
  }

  /** One statement for all callers. Returns false if it failed. */
  async function exchange(): Promise<boolean> {
    const usage = Array.from(used, ([user_id, count]) => ({ user_id, used: count }));
    used.clear();
    try {
      const rows = await database.query((sql) => reportUsage(sql, usage, limit), "report usage");
      for (const { user_id, tokens } of rows) setTokens(user_id, tokens - (used.get(user_id) ?? 0));
      if (performance.now() - deletedAt < DELETE_MS) return true;
      deletedAt = performance.now();
      await database.query((sql) => deleteFullBuckets(sql, limit), "delete full buckets");
      return true;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) log.error("usage_exchange_failed", error);
      return false;
    }
  }

  return {
    onTokens: (callback) => setTokens = callback,
    add(userId) {
      const count = (used.get(userId) ?? 0) + 1;
      used.set(userId, count);
      if (running || isClosed) return;
      if (count >= earlyCount) startExchange();
      else timer ??= setTimeout(startExchange, EXCHANGE_MS);
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
