/**
 * The session-level advisory lock by which other instances see that this one is alive. Leases name the
 * lock's token as their holder. PostgreSQL releases the lock when the session ends, so the leases of a
 * killed process can be taken over at once. A lost lock does not prove that the process has ended: the
 * writes of a holder are conditional on its lease and token, so that a former holder cannot write.
 */

import postgres from "postgres";
import { waitAtMost, withTimeLimit } from "../concurrency/deadlines.ts";
import { DatabaseUnavailable, type Sql } from "./database.ts";

export interface LeaseHolder {
  /** Stored with each lease. Null: there is no lock now, so a new lease ends only when its time is over. */
  token(): number | null;
}

/** For processes without a lock. */
export const NO_LOCK: LeaseHolder = { token: () => null };

export interface InstanceLock extends LeaseHolder, AsyncDisposable {}

export interface InstanceLockOptions {
  url: string;
  /** Another instance has ended, by a stop or a crash. Called in one of the remaining instances. */
  onInstanceGone(): void;
  /** The lock is lost or cannot be taken; it is retried. Called once until the lock is held again. */
  onLost(error: unknown): void;
  /** Defaults to a random number. */
  token?: number;
}

/** How often the lock is verified, and the locks of other instances are checked. */
const CHECK_MS = 1_000;

const CONNECT_TIMEOUT_SECONDS = 2;

/** Long: a busy database may respond late, and the instance would then lose its lock. */
const RESPONSE_TIMEOUT_MS = 5_000;

const RETRY_MS = 500;

/** The pause between two tries while a connection pooler keeps no session for this process. */
const NO_SESSION_RETRY_MS = 60_000;

/** The lock counts as held this long after a check. Shorter than the server's limit for idle sessions. */
const FRESH_MS = 8_000;

/**
 * The server ends the session of a machine that vanished (TCP settings), or of a process that is paused
 * and sends nothing (idle session), within 15 seconds. A statement makes these settings, because
 * connection poolers refuse unknown startup parameters.
 */
const SESSION_SETTINGS = {
  tcp_keepalives_idle: "4",
  tcp_keepalives_interval: "3",
  tcp_keepalives_count: "3",
  tcp_user_timeout: "12000",
  idle_session_timeout: "10000",
};

/** The service, too, sends TCP keepalive probes after this idle time. */
const KEEP_ALIVE_SECONDS = 4;

/** Consecutive statements ran in different sessions, so no session holds the lock for this process. */
class NoSession extends Error {
  override name = "NoSession";
}

/** Resolves when the lock is held, or after the first try failed. */
export async function openInstanceLock(options: InstanceLockOptions): Promise<InstanceLock> {
  const { url, onInstanceGone, onLost, token = randomToken() } = options;
  const stop = Promise.withResolvers<void>();
  const firstTry = Promise.withResolvers<void>();
  let verifiedAt = -Infinity;
  let isLossReported = false;
  let isStopped = false;

  async function keepHolding(): Promise<void> {
    while (!isStopped) {
      let retryMs = RETRY_MS;
      try {
        await holdOnce();
      } catch (error) {
        if (error instanceof NoSession) retryMs = NO_SESSION_RETRY_MS;
        if (!isStopped && !isLossReported) onLost(error);
        isLossReported = true;
      }
      firstTry.resolve();
      await waitAtMost(retryMs, stop.promise);
    }
  }

  /** Like `listenOnce` in `listen.ts`: each session has its own driver instance. */
  async function holdOnce(): Promise<void> {
    const lost = Promise.withResolvers<never>();
    const ending = Promise.race([lost.promise, stop.promise]);
    ending.catch(() => {});
    const sql = postgres(url, {
      max: 1,
      max_lifetime: null,
      connect_timeout: CONNECT_TIMEOUT_SECONDS,
      keep_alive: KEEP_ALIVE_SECONDS,
      fetch_types: false,
      // Behind a pooler, a prepared statement would fail in another session before `pid` is compared.
      prepare: false,
      types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
      onnotice: () => {},
      onclose: () => lost.reject(new DatabaseUnavailable("The session of the lock is lost")),
      connection: { application_name: "payment-gateway lock" },
    });
    const run = <T>(statement: Promise<T>) =>
      Promise.race([withTimeLimit(RESPONSE_TIMEOUT_MS, () => statement), lost.promise]);
    try {
      const pid = await run(takeLock(sql, token));
      while (!isStopped) {
        const { pid: currentPid, gone } = await run(checkLocks(sql, token));
        if (currentPid !== pid) {
          throw new NoSession(
            "The database connection has no session of its own. Use a direct connection, or a " +
              "connection pooler in session mode.",
          );
        }
        verifiedAt = performance.now();
        isLossReported = false;
        firstTry.resolve();
        if (gone.length > 0 && await run(removeInstances(sql, gone))) onInstanceGone();
        await waitAtMost(CHECK_MS, ending);
      }
    } finally {
      verifiedAt = -Infinity;
      await sql.end({ timeout: 0 });
    }
  }

  const holding = keepHolding();
  await firstTry.promise;
  return {
    token: () => performance.now() - verifiedAt < FRESH_MS ? token : null,
    async [Symbol.asyncDispose]() {
      isStopped = true;
      stop.resolve();
      await holding;
    },
  };
}

/** Below 2^53, so that JSON and JavaScript numbers hold it exactly. */
function randomToken(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high! % 2 ** 20) * 2 ** 32 + low!;
}

/** Takes the lock and registers the instance. Returns the process id of the session's server process. */
async function takeLock(sql: Sql, token: number): Promise<number> {
  await sql`
    select set_config(name, value, false)
    from json_each_text(${JSON.stringify(SESSION_SETTINGS)}::text::json) as setting (name, value)`;
  const [row] = await sql<[{ pid: number; is_taken: boolean }]>`
    select pg_backend_pid() as pid, pg_try_advisory_lock(${token}::bigint) as is_taken`;
  // After a lost connection, the server may not have ended the former session yet.
  if (!row.is_taken) throw new DatabaseUnavailable("The lock is held by another session");
  await sql`insert into gateway.instances (holder) values (${token}) on conflict do nothing`;
  return row.pid;
}

/** Returns the process id of the session's server process, and the instances whose locks are free. */
async function checkLocks(sql: Sql, token: number): Promise<{ pid: number; gone: number[] }> {
  const rows = await sql<{ pid: number; holder: number | null }[]>`
    select session.pid, instance.holder
    from (select pg_backend_pid() as pid) session
    left join gateway.instances instance
      on instance.holder <> ${token} and pg_try_advisory_xact_lock_shared(instance.holder)`;
  return { pid: rows[0]!.pid, gone: rows.flatMap(({ holder }) => holder ?? []) };
}

/** False: another instance has already removed them. */
async function removeInstances(sql: Sql, holders: number[]): Promise<boolean> {
  const rows = await sql`
    delete from gateway.instances
    where holder in (select value::bigint from json_array_elements_text(
      ${JSON.stringify(holders)}::text::json))
      and pg_try_advisory_xact_lock_shared(holder)
    returning true`;
  return rows.length > 0;
}
