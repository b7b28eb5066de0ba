/**
 * Runs work on one instance at a time: the one whose connection has an advisory lock. When that
 * instance crashes, the server ends its database session, and another instance gets the lock.
 */

import type postgres from "postgres";
import type { Sql } from "./database.ts";
import { PLANNER_SETTINGS } from "./settings.ts";
import { keepConnection } from "./kept_connection.ts";

export interface OneInstanceOptions {
  /** Must not lead to a connection pooler in transaction mode. */
  url: string;
  /** Shown by the server as the name of the connection. */
  name: string;
  lock: bigint;
  channel: string;
  /**
   * Called when the lock is obtained, after each signal on `channel`, after `wake`, and at
   * least every `pauseMs` + `pollMs`; returns whether there is more to do at once.
   */
  work(sql: postgres.Sql): Promise<boolean>;
  /** The shortest pause between two calls, unless there is more to do at once. */
  pauseMs: number;
  /** The longest wait for a signal, after `pauseMs`. */
  pollMs: number;
  /** The connection or the work failed; both are retried. */
  onError(error: unknown): void;
  /** The work succeeded. */
  onSuccess(): void;
}

/** How often an instance tries to get the lock. */
const TRY_MS = 500;

/** The server cancels a slower statement. */
const STATEMENT_TIMEOUT_MS = 10_000;

const RESPONSE_TIMEOUT_MS = 12_000;

/**
 * The server ends the session of a machine that does not respond for about 15 seconds, and of a
 * process that is paused, because all other instances wait for the lock of that session.
 */
const DETECT_DEAD_CLIENT = {
  idle_session_timeout: 10_000,
  idle_in_transaction_session_timeout: 10_000,
  tcp_keepalives_idle: 5,
  tcp_keepalives_interval: 3,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 15_000,
};

export interface OneInstanceWork extends AsyncDisposable {
  /** Calls `work` soon; false: another instance does the work. */
  wake(): boolean;
}

export function runOnOneInstance(options: OneInstanceOptions): OneInstanceWork {
  const { url, name, lock, channel, work, pauseMs, pollMs, onError, onSuccess } = options;
  let hasLock = false;
  let wakeUp = Promise.withResolvers<void>();
  const connection = keepConnection({
    url,
    name,
    settings: {
      statement_timeout: STATEMENT_TIMEOUT_MS,
      ...DETECT_DEAD_CLIENT,
      ...PLANNER_SETTINGS,
    },
    responseTimeoutMs: RESPONSE_TIMEOUT_MS,
    retryMs: () => TRY_MS,
    onSignal: () => wakeUp.resolve(),
    onError,
    async use({ sql, run, wait, isStopped }) {
      while (!isStopped() && !await run(tryLock(sql, lock))) await wait(TRY_MS);
      if (isStopped()) return;
      await run(sql.unsafe(`listen ${channel}`));
      hasLock = true;
      try {
        while (!isStopped()) {
          wakeUp = Promise.withResolvers();
          const hasMore = await run(work(sql));
          onSuccess();
          if (hasMore) continue;
          await wait(pauseMs);
          await wait(pollMs, wakeUp.promise);
        }
      } finally {
        hasLock = false;
      }
    },
  });
  return {
    wake() {
      wakeUp.resolve();
      return hasLock;
    },
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  };
}

async function tryLock(sql: Sql, lock: bigint): Promise<boolean> {
  const [row] = await sql<[{ is_locked: boolean }]>`
    select pg_try_advisory_lock(${lock.toString()}::bigint) as is_locked`;
  return row.is_locked;
}
