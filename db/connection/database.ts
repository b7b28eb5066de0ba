/**
 * The connection pool. Calls have a deadline. They fail with `DatabaseUnavailable` if the database
 * does not respond or cannot be reached.
 */

import postgres from "postgres";
import { codeOf, DatabaseUnavailable, meansLostConnection } from "./errors.ts";
import { pacedSocket } from "./paced_socket.ts";
import { findPrimary, type Primary } from "./primary.ts";
import { serverUrls } from "./server_urls.ts";
import { DEADLINE, poolSettings } from "./settings.ts";
import { pooledSql, setLocal } from "./pooled_statements.ts";
import type { Pooling } from "./pooling.ts";
import { inDatabaseSpan } from "./span.ts";

export { codeOf, DatabaseUnavailable, meansLostConnection };

/** The driver's tagged template, of the pool or of a transaction. */
export type Sql = postgres.ISql;

/** The parameter `name`, such as `insert payment`, is the name of the call in traces. */
export interface Database {
  /** How long a call may take. */
  readonly deadlineMs: number;
  /** Runs statements, each in its own transaction. */
  query<T>(work: (sql: Sql) => Promise<T>, name?: string): Promise<T>;
  /** Runs statements in one transaction. */
  transaction<T>(work: (sql: Sql) => Promise<T>, name?: string): Promise<T>;
  close(): Promise<void>;
}

/**
 * A new pool is kept at least this long, even if it is read-only, so that reads do not have to
 * reconnect all the time.
 */
const READ_ONLY_POOL_MS = 5_000;

export interface DatabaseOptions {
  url: string;
  poolSize: number;
  /**
   * The kind of connection pooler that the URL leads to; default: none. Poolers refuse the settings
   * as start-up parameters, so each transaction applies them. In transaction mode no statement is
   * prepared, because each transaction may run in another session.
   */
  pooling?: Exclude<Pooling, "statement">;
  /** How long a call may take; default: `DEADLINE`. */
  deadlineMs?: number;
}

interface PoolState {
  options: DatabaseOptions;
  deadlineMs: number;
  /** How long running statements may finish when a pool is closed: longer than the deadline. */
  graceSeconds: number;
  /** Null: the primary has to be found first, because the URL names several servers. */
  pool: postgres.Sql | null;
  /** The server of `pool`. */
  primary: Primary | null;
  openedAt: number;
  /** When a call last got a response. */
  lastResponse: number;
  /** Replaced pools that are being closed. */
  ending: Set<Promise<void>>;
  isClosed: boolean;
  use: PoolUse;
}

export function openDatabase(options: DatabaseOptions): Database {
  const { deadlineMs = DEADLINE.ms } = options;
  const isPooled = isPooler(options);
  const settings = poolSettings(deadlineMs);
  const state: PoolState = {
    options,
    deadlineMs,
    graceSeconds: Math.ceil(deadlineMs / 1_000),
    ...newPool(options, deadlineMs),
    lastResponse: 0,
    ending: new Set(),
    isClosed: false,
    use: { size: options.poolSize, calls: 0, pooling: options.pooling ?? "none" },
  };
  const database: Database = {
    deadlineMs,
    query: (work, name = "query") =>
      inDatabaseSpan(
        name,
        () => withDeadline(state, isPooled ? (pool) => work(pooledSql(pool, settings)) : work),
      ),
    transaction: (work, name = "transaction") =>
      inDatabaseSpan(
        name,
        () =>
          withDeadline(state, (pool, isExpired) =>
            runTransaction(pool, isPooled ? withSettings(work, settings) : work, isExpired)),
      ),
    async close() {
      state.isClosed = true;
      await Promise.all([...state.ending, state.pool?.end({ timeout: state.graceSeconds })]);
    },
  };
  poolUses.set(database, state.use);
  return database;
}

async function withDeadline<T>(state: PoolState, work: Work<T>): Promise<T> {
  const { use, deadlineMs } = state;
  use.calls++;
  const began = performance.now();
  const { promise: deadline, reject } = Promise.withResolvers<never>();
  let isExpired = false;
  let pool = currentPool(state);
  const timer = setTimeout(() => {
    isExpired = true;
    // If no call has got a response since this one began, all connections may be dead: a server
    // that vanished does not close them. If the database is only slow, other calls get responses.
    if (state.lastResponse < began) replacePool(state, pool, 0);
    // A former primary answers reads, but its commits wait forever for a standby. So ask which
    // server is the primary: if it is another one, the next call opens a pool there.
    else findPrimary(state.options.url).catch(() => {});
    reject(new DatabaseUnavailable(`No response from the database within ${deadlineMs} ms`));
  }, deadlineMs);
  async function run(): Promise<T> {
    const opened = pool ??= await openAtPrimary(state);
    if (isExpired) throw new DatabaseUnavailable("The primary was found too late");
    return await withTypes(opened, () => work(opened, () => isExpired));
  }
  try {
    const result = await Promise.race([run(), deadline]);
    state.lastResponse = performance.now();
    return result;
  } catch (error) {
    if (error instanceof postgres.PostgresError) state.lastResponse = performance.now();
    if (!meansUnavailable(error)) throw error;
    if (needsNewPool(error, isPooler(state.options)) || mayBeDemoted(state, error)) {
      replacePool(state, pool, state.graceSeconds);
    }
    throw new DatabaseUnavailable("The database is not available", { cause: error });
  } finally {
    clearTimeout(timer);
    use.calls--;
  }
}

function currentPool(state: PoolState): postgres.Sql | null {
  if (state.primary?.replaced.aborted) replacePool(state, state.pool, 0);
  return state.pool;
}

/** The calls that wait for the same search open one pool. */
async function openAtPrimary(state: PoolState): Promise<postgres.Sql> {
  const { options, deadlineMs } = state;
  const primary = await findPrimary(options.url);
  if (state.isClosed) throw new DatabaseUnavailable("The pool was closed");
  if (state.pool === null) {
    state.pool = openPool({ ...options, url: primary.url }, deadlineMs, !isPooler(options));
    state.primary = primary;
    state.openedAt = performance.now();
  }
  return state.pool;
}

/** A URL with several servers gets its pool with the first call. */
function newPool(
  options: DatabaseOptions,
  deadlineMs: number,
): Pick<PoolState, "pool" | "primary" | "openedAt"> {
  const hasSeveral = serverUrls(options.url).length > 1;
  return {
    pool: hasSeveral ? null : openPool(options, deadlineMs, false),
    primary: null,
    openedAt: performance.now(),
  };
}

/**
 * Replaces the pool after a connection error: the driver can put a broken connection back into the
 * pool in a state in which it never works again. Statements on other connections may finish.
 */
function replacePool(state: PoolState, broken: postgres.Sql | null, timeout: number): void {
  const { options, deadlineMs, ending } = state;
  if (broken === null || broken !== state.pool) return;
  Object.assign(state, newPool(options, deadlineMs));
  const end = broken.end({ timeout }).finally(() => ending.delete(end));
  ending.add(end);
}

/**
 * After a failover, connections to the old primary stay open and are read-only. New connections
 * reach the new primary. With several servers, `findPrimary` has chosen a writable one, so the pool
 * needs no minimum age.
 */
function mayBeDemoted({ openedAt, primary }: PoolState, error: unknown): boolean {
  return codeOf(error) === READ_ONLY &&
    (primary !== null || performance.now() - openedAt > READ_ONLY_POOL_MS);
}

export interface PoolUse {
  /** The maximum number of connections. */
  size: number;
  /** The calls in progress; those above `size` wait for a connection. */
  calls: number;
  /** The mode of the connection pooler through which the connections lead. */
  pooling: Exclude<Pooling, "statement">;
}

const poolUses = new WeakMap<Database, PoolUse>();

/** How much of the pool is in use; null: `database` is not a pool, but an object around one. */
export function poolUse(database: Database): PoolUse | null {
  return poolUses.get(database) ?? null;
}

type Work<T> = (pool: postgres.Sql, isExpired: () => boolean) => Promise<T>;

/**
 * The driver sends the settings together with the first statement. If they fail, so does the rest.
 */
function withSettings<T>(
  work: (sql: Sql) => Promise<T>,
  settings: ReturnType<typeof poolSettings>,
): (sql: Sql) => Promise<T> {
  return (sql) => {
    sql.unsafe(setLocal(settings)).catch(() => {});
    return work(sql);
  };
}

/** The first statement of each pool, while it runs. */
const firstStatements = new WeakMap<postgres.Sql, Promise<unknown>>();

/** The type uuid[]. */
const UUID_ARRAY = 2951;

/**
 * Before the first statement of a pool, the driver requests the array types. It sends a statement
 * of more than 1 KiB without waiting for them. If the result of that statement arrives first, the
 * driver returns arrays as text until the connection is closed. So the first statement is a short
 * one: the driver sends it after it has received the types.
 */
async function withTypes<T>(pool: postgres.Sql, work: () => Promise<T>): Promise<T> {
  if (UUID_ARRAY in pool.options.parsers) return await work();
  const first = firstStatements.get(pool) ?? Promise.resolve(pool`select 1`);
  firstStatements.set(pool, first);
  await first.finally(() => firstStatements.delete(pool));
  return await work();
}

/**
 * The driver's `begin`, with two corrections. After the deadline further statements are rejected
 * and the transaction rolls back, because the caller already got an error. (If the commit was sent
 * before, its outcome is unknown.) After the connection is lost the driver would still send the
 * next statement and a rollback, and that connection would never work again. So nothing more is
 * sent: if `work` fails because of the loss, the promise that the driver waits for stays pending,
 * and the driver ends the transaction by itself.
 */
export function runTransaction<T>(
  pool: postgres.Sql,
  work: (sql: Sql) => Promise<T>,
  isExpired = () => false,
): Promise<T> {
  let isLost = false;
  const rejection = () => new DatabaseUnavailable("The transaction has ended");
  const begun = pool.begin((sql) =>
    new Promise<T>((resolve, reject) => {
      const guarded = guard(sql, () => isLost || isExpired() ? rejection() : null);
      work(guarded).then(
        (result) => isExpired() ? reject(rejection()) : resolve(result),
        (error) => isLost || meansLostConnection(error) || reject(error),
      );
    })
  );
  begun.catch(() => isLost = true);
  return begun as Promise<T>;
}

/**
 * Rejects statements if `findError` returns an error; `sql(columns)`, which sends nothing, still
 * works.
 */
function guard(
  sql: postgres.TransactionSql,
  findError: () => Error | null,
): postgres.TransactionSql {
  const orReject = <T>(run: () => T) => {
    const error = findError();
    return error ? Promise.reject(error) : run();
  };
  return new Proxy(sql, {
    apply: (target, self, args) =>
      args[0]?.raw
        ? orReject(() => Reflect.apply(target, self, args))
        : Reflect.apply(target, self, args),
    get: (target, name) =>
      name === "unsafe"
        ? (...args: Parameters<Sql["unsafe"]>) => orReject(() => target.unsafe(...args))
        : Reflect.get(target, name),
  });
}

function isPooler({ pooling = "none" }: DatabaseOptions): boolean {
  return pooling !== "none";
}

function openPool(
  options: DatabaseOptions,
  deadlineMs: number,
  refusesStandby: boolean,
): postgres.Sql {
  const { url, poolSize, pooling } = options;
  const ended = new AbortController();
  const pool = postgres(url, {
    ...pacedSocket(ended.signal),
    // A server that was the primary when the pool was opened may have become a standby. Not through
    // PgBouncer: it keeps reporting the role that a server had when PgBouncer connected to it, so a
    // promoted server would be refused as a standby.
    target_session_attrs: refusesStandby ? "primary" : undefined,
    max: poolSize,
    connect_timeout: Math.ceil(deadlineMs / 1_000),
    // The default backoff waits up to 20 s; this one reconnects soon after the database is back.
    backoff: () => 0.2,
    onnotice: () => {},
    // Amounts are whole rupiah with at most 13 digits, which a number holds exactly.
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
    prepare: pooling !== "transaction",
    connection: {
      application_name: "payment-gateway",
      ...isPooler(options) ? {} : poolSettings(deadlineMs),
    },
  });
  const { end } = pool;
  return Object.assign(pool, {
    end: (endOptions?: { timeout?: number }) => end(endOptions).finally(() => ended.abort()),
  });
}

/** The server's current time in milliseconds. */
export async function readServerTime(sql: Sql): Promise<number> {
  const [row] = await sql<[{ now: number }]>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`;
  return row.now;
}

/** The SQLSTATE of a write to a replica, or to a database that is set to read-only. */
const READ_ONLY = "25006";

/** The SQLSTATE of a write to a full disk. */
const DISK_FULL = "53100";

/** Whether the database rejected a write, although it may still answer reads. */
export function meansNoWrites(error: unknown): boolean {
  if (!(error instanceof DatabaseUnavailable)) return false;
  const code = codeOf(error.cause);
  return code === READ_ONLY || code === DISK_FULL;
}

/**
 * SQLSTATEs of a server that rejects the connection, is starting, stopping, full, read-only (a
 * replica) or too slow, and of a row that another transaction keeps locked.
 */
const UNAVAILABLE_STATE = /^(08...|53...|55P03|57P0.|57014|28...|3D000|25006)$/;

function meansUnavailable(error: unknown): boolean {
  return meansLostConnection(error) || UNAVAILABLE_STATE.test(codeOf(error));
}

/**
 * Without a pooler, a server that rejects a new connection, for example because it has too many,
 * does not affect the other connections of the pool. Through a pooler, a failed connection for
 * `reserve` is missing in the driver's pool from then on, so the pool is replaced.
 */
function needsNewPool(error: unknown, isPooled: boolean): boolean {
  return meansLostConnection(error) && (isPooled || !/^(28|3D|53)/.test(codeOf(error)));
}

/** The name of the constraint that a rejected row violates, or an empty string. */
export function constraintOf(error: unknown): string {
  return String((error as { constraint_name?: unknown } | null)?.constraint_name ?? "");
}

/** The SQLSTATE of a statement that waited too long for a lock. */
export const LOCK_TIMEOUT = "55P03";

/** The SQLSTATE of a row whose key exists already. */
export const UNIQUE_VIOLATION = "23505";

/** The SQLSTATE of a statement that the role is not allowed to run. */
export const INSUFFICIENT_PRIVILEGE = "42501";
