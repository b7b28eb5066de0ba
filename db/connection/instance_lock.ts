/**
 * The session-level advisory lock by which other instances see that this one is alive. Leases name
 * the lock's token, in the column `holder`. PostgreSQL releases the lock when the session ends, so
 * the leases of a killed process can be taken over at once. A lost lock does not prove that the
 * process has ended: each write of an instance is conditional on its lease, so that it cannot write
 * after another instance has taken over.
 */

import { DatabaseUnavailable, type Sql } from "./database.ts";
import { keepConnection, type KeptConnection } from "./kept_connection.ts";

/** An instance, as leases name it. */
export interface ThisInstance {
  /**
   * Stored with each lease. Null: there is no lock now, so a new lease ends only when its time is
   * over.
   */
  token(): number | null;
}

/** For processes without a lock. */
export const NO_LOCK: ThisInstance = { token: () => null };

export interface InstanceLock extends ThisInstance, AsyncDisposable {
  /**
   * From now on, calls `recover` after another instance has ended, by a stop or a crash. Of the
   * instances that called this method, one is called.
   */
  recoverOthers(recover: Recover): void;
}

/**
 * Runs the work that instances left behind when they ended. False: this instance began to stop
 * before that was done. It is then not called again, and another instance has to do the work.
 */
export type Recover = () => Promise<boolean>;

export interface InstanceLockOptions {
  url: string;
  /** The lock is lost or not available; the instance keeps trying. Called once per loss. */
  onLost(error: unknown): void;
  /** Defaults to a random number. */
  token?: number;
}

/** How often the lock is verified, and the locks of other instances are checked. */
const CHECK_MS = 1_000;

/** Long, so that an instance does not lose its lock if a busy database responds late. */
const RESPONSE_TIMEOUT_MS = 5_000;

const RETRY_MS = 500;

/** The pause between two tries while a connection pooler keeps no session for this process. */
const NO_SESSION_RETRY_MS = 60_000;

/**
 * The lock counts as taken this long after a check. Shorter than the server's limit for idle
 * sessions.
 */
const FRESH_MS = 8_000;

/**
 * The server ends the session of a machine that vanished (TCP settings), or of a process that is
 * paused and sends nothing (idle session), within 15 seconds.
 */
const SESSION_SETTINGS = {
  tcp_keepalives_idle: "4",
  tcp_keepalives_interval: "3",
  tcp_keepalives_count: "3",
  tcp_user_timeout: "12000",
  idle_session_timeout: "10000",
};

/**
 * Consecutive statements ran in different sessions, so no session has the lock for this process.
 */
class NoSession extends Error {
  override name = "NoSession";
}

/** Resolves when the lock is taken, or after the first try failed. */
export async function openInstanceLock(options: InstanceLockOptions): Promise<InstanceLock> {
  const { url, onLost, token = randomToken() } = options;
  const firstTry = Promise.withResolvers<void>();
  let verifiedAt = -Infinity;
  let isLossReported = false;
  let recover: Recover | null = null;
  /** Ended instances that this one has removed, but whose work it has not finished. */
  const unfinished = new Set<number>();

  async function recoverFrom(gone: number[]): Promise<void> {
    for (const token of gone) unfinished.add(token);
    if (!await recover?.()) recover = null;
    else for (const token of gone) unfinished.delete(token);
  }

  /** Registers the unfinished ones again, for another instance. */
  async function leaveUnfinished({ sql, run }: KeptConnection): Promise<void> {
    if (unfinished.size === 0) return;
    await run(registerInstances(sql, [...unfinished]));
    unfinished.clear();
  }

  const connection = keepConnection({
    url,
    name: "payment-gateway lock",
    settings: SESSION_SETTINGS,
    // Behind a pooler, a prepared statement would fail in another session before `pid` is compared.
    prepare: false,
    responseTimeoutMs: RESPONSE_TIMEOUT_MS,
    retryMs: (error) => error instanceof NoSession ? NO_SESSION_RETRY_MS : RETRY_MS,
    onError(error) {
      if (!isLossReported) onLost(error);
      isLossReported = true;
      firstTry.resolve();
    },
    async use(connection) {
      const { sql, run, wait, isStopped } = connection;
      try {
        const pid = await run(takeLock(sql, token));
        while (!isStopped()) {
          const { pid: currentPid, gone } = await run(checkLocks(sql, token));
          if (currentPid !== pid) {
            throw new NoSession(
              "The database connection has no session of its own. Set DATABASE_DIRECT_URL to a direct " +
                "connection, or to a connection pooler in session mode.",
            );
          }
          verifiedAt = performance.now();
          isLossReported = false;
          firstTry.resolve();
          if (recover && gone.length > 0 && await run(removeInstances(sql, gone))) {
            void recoverFrom(gone);
          }
          if (recover === null) await leaveUnfinished(connection);
          await wait(CHECK_MS);
        }
        // A recovery may still run, or may have ended after the last check.
        await leaveUnfinished(connection);
      } finally {
        verifiedAt = -Infinity;
      }
    },
  });
  await firstTry.promise;
  return {
    token: () => performance.now() - verifiedAt < FRESH_MS ? token : null,
    recoverOthers: (used) => void (recover = used),
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  };
}

/** Below 2^53, so that JSON and JavaScript numbers hold it exactly. */
function randomToken(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high! % 2 ** 20) * 2 ** 32 + low!;
}

/**
 * Takes the lock and registers the instance. Returns the process id of the session's server
 * process.
 */
async function takeLock(sql: Sql, token: number): Promise<number> {
  const [row] = await sql<[{ pid: number; is_taken: boolean }]>`
    select pg_backend_pid() as pid, pg_try_advisory_lock(${token}::bigint) as is_taken`;
  // After a lost connection, the server may not have ended the former session yet.
  if (!row.is_taken) throw new DatabaseUnavailable("Another session has the lock");
  await registerInstances(sql, [token]);
  return row.pid;
}

async function registerInstances(sql: Sql, tokens: number[]): Promise<void> {
  await sql`
    insert into gateway.instances (holder)
    select value::bigint from json_array_elements_text(${JSON.stringify(tokens)}::text::json)
    on conflict do nothing`;
}

/**
 * Returns the process id of the session's server process, and the instances whose locks are free.
 * Without parameters the driver sends the statement in one message. With parameters it would send
 * two, and the session of a process that is paused between them would not count as idle.
 */
async function checkLocks(sql: Sql, token: number): Promise<{ pid: number; gone: number[] }> {
  const rows = await sql.unsafe<{ pid: number; holder: number | null }[]>(`
    select session.pid, instance.holder
    from (select pg_backend_pid() as pid) session
    left join gateway.instances instance
      on instance.holder <> ${token} and pg_try_advisory_xact_lock_shared(instance.holder)`);
  return { pid: rows[0]!.pid, gone: rows.flatMap(({ holder }) => holder ?? []) };
}

/** Removes them with their event streams. False: another instance has already removed them. */
async function removeInstances(sql: Sql, tokens: number[]): Promise<boolean> {
  const rows = await sql`
    with removed as (
      delete from gateway.instances
      where holder in (select value::bigint from json_array_elements_text(
        ${JSON.stringify(tokens)}::text::json))
        and pg_try_advisory_xact_lock_shared(holder)
      returning holder
    ), closed as (
      delete from gateway.open_streams where holder in (select holder from removed)
    )
    select from removed`;
  return rows.length > 0;
}
