/**
 * Runs work in a database session that only one instance has at a time. The session holds an advisory
 * lock; when the instance crashes, the server ends the session and another instance gets the lock.
 */

import postgres from "postgres";
import { waitAtMost } from "../concurrency/deadlines.ts";
import { DatabaseUnavailable, PLANNER_SETTINGS, type Sql } from "./database.ts";

export interface SoleSessionOptions {
  url: string;
  /** Shown by the server as the name of the session. */
  name: string;
  lock: bigint;
  channel: string;
  /**
   * Called when the session is obtained, after each notification, and every `pollMs`; returns whether
   * there is more to do at once.
   */
  work(sql: postgres.Sql): Promise<boolean>;
  /** The shortest and the longest pause between two calls. */
  pauseMs: number;
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

/** A connection without a response for this long is considered dead. */
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

export interface SoleSession extends AsyncDisposable {
  /** Calls `work` soon; false: this instance does not have the session. */
  wake(): boolean;
}

export function runInSoleSession(options: SoleSessionOptions): SoleSession {
  const stop = Promise.withResolvers<void>();
  /** Wakes the session up; null: this instance does not have it. */
  let wakeUp: (() => void) | null = null;
  let isStopped = false;

  async function keepTrying(): Promise<void> {
    while (!isStopped) {
      try {
        await runSession(options, {
          stopped: stop.promise,
          isStopped: () => isStopped,
          onLocked: (wake) => wakeUp = wake,
        });
      } catch (error) {
        if (!isStopped) options.onError(error);
      }
      wakeUp = null;
      if (!isStopped) await waitAtMost(TRY_MS, stop.promise);
    }
  }

  const trying = keepTrying();
  return {
    wake() {
      wakeUp?.();
      return wakeUp !== null;
    },
    async [Symbol.asyncDispose]() {
      isStopped = true;
      stop.resolve();
      await trying;
    },
  };
}

interface SessionControls {
  stopped: Promise<void>;
  isStopped(): boolean;
  /** This instance has the session now. */
  onLocked(wake: () => void): void;
}

/** Ends when the connection is lost, the work fails, or the caller stops it. */
async function runSession(
  options: SoleSessionOptions,
  { stopped, isStopped, onLocked }: SessionControls,
): Promise<void> {
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {});
  let wakeUp = Promise.withResolvers<void>();
  const settings = {
    max: 1,
    max_lifetime: null,
    connect_timeout: 2,
    fetch_types: false,
    onnotice: () => {},
    onnotify: () => wakeUp.resolve(),
    onclose: () => lost.reject(new DatabaseUnavailable(`The session "${options.name}" is lost`)),
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
    connection: {
      application_name: options.name,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      ...DETECT_DEAD_CLIENT,
      ...PLANNER_SETTINGS,
    },
  };
  // One driver instance per session: after a reconnect, the driver would not hold the lock.
  const sql = postgres(options.url, settings);
  const orLost = <T>(work: Promise<T>) => withResponseTimeout(Promise.race([work, lost.promise]));
  try {
    while (!isStopped() && !await orLost(tryLock(sql, options.lock))) {
      await waitAtMost(TRY_MS, Promise.race([stopped, lost.promise]));
    }
    if (isStopped()) return;
    await orLost(sql.unsafe(`listen ${options.channel}`));
    onLocked(() => wakeUp.resolve());
    while (!isStopped()) {
      wakeUp = Promise.withResolvers();
      const hasMore = await orLost(options.work(sql));
      options.onSuccess();
      if (hasMore) continue;
      await waitAtMost(options.pauseMs, Promise.race([stopped, lost.promise]));
      await waitAtMost(options.pollMs, Promise.race([stopped, wakeUp.promise, lost.promise]));
    }
  } finally {
    await sql.end({ timeout: 0 });
  }
}

async function tryLock(sql: Sql, lock: bigint): Promise<boolean> {
  const [row] = await sql<[{ is_locked: boolean }]>`
    select pg_try_advisory_lock(${lock.toString()}::bigint) as is_locked`;
  return row.is_locked;
}

async function withResponseTimeout<T>(work: Promise<T>): Promise<T> {
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const error = new DatabaseUnavailable(
    `No response from the database within ${RESPONSE_TIMEOUT_MS} ms`,
  );
  const timer = setTimeout(() => reject(error), RESPONSE_TIMEOUT_MS);
  try {
    return await Promise.race([work, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
