/** The connection pool: every call has a deadline, and an unreachable database is one known error. */

import postgres from "postgres";
import { inDatabaseSpan } from "./span.ts";

/** The driver's tagged template, of the pool or of a transaction. */
export type Sql = postgres.ISql;

/** The names are shown in traces, such as `insert payment`. */
export interface Database {
  /** Runs statements, each in its own transaction. */
  query<T>(work: (sql: Sql) => Promise<T>, name?: string): Promise<T>;
  /** Runs statements in one transaction. */
  transaction<T>(work: (sql: Sql) => Promise<T>, name?: string): Promise<T>;
  close(): Promise<void>;
}

/** The database did not respond in time or could not be reached; the cause says which. */
export class DatabaseUnavailable extends Error {
  override name = "DatabaseUnavailable";
}

/** Callers get "unavailable" within 2 s; this leaves some of that to the rest of the request. */
export const DEADLINE_MS = 1_800;

/** Below the deadline, so that the server cancels a slow statement instead of continuing it. */
const STATEMENT_TIMEOUT_MS = 1_500;

/** How long running statements may take to finish when a pool is closed: more than the deadline. */
const GRACE_SECONDS = 2;

/** The server then ends the transaction of a frozen instance and releases its locks. */
const IDLE_IN_TRANSACTION_MS = 10_000;

export function openDatabase(options: { url: string; poolSize: number }): Database {
  let pool = openPool(options);
  let lastResponse = 0;
  const ending = new Set<Promise<void>>();

  /**
   * Replaces the pool after a connection error: the driver can put a broken connection back into the
   * pool in a state in which it never works again. Statements on other connections may finish.
   */
  function replacePool(broken: postgres.Sql, graceSeconds: number) {
    if (broken !== pool) return;
    pool = openPool(options);
    const end = broken.end({ timeout: graceSeconds }).finally(() => ending.delete(end));
    ending.add(end);
  }

  async function withDeadline<T>(work: Work<T>): Promise<T> {
    const used = pool;
    const began = performance.now();
    const { promise: deadline, reject } = Promise.withResolvers<never>();
    let isExpired = false;
    const timer = setTimeout(() => {
      isExpired = true;
      // No connection got a response since this call began: they may be dead (a server that vanished
      // does not close them). If the database were only slow, other calls would have got one.
      if (lastResponse < began) replacePool(used, 0);
      reject(new DatabaseUnavailable(`No response from the database within ${DEADLINE_MS} ms`));
    }, DEADLINE_MS);
    try {
      const result = await Promise.race([work(used, () => isExpired), deadline]);
      lastResponse = performance.now();
      return result;
    } catch (error) {
      if (error instanceof postgres.PostgresError) lastResponse = performance.now();
      if (!meansUnavailable(error)) throw error;
      if (meansLostConnection(error)) replacePool(used, GRACE_SECONDS);
      throw new DatabaseUnavailable("The database is not available", { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    query: (work, name = "query") => inDatabaseSpan(name, () => withDeadline(work)),
    transaction: (work, name = "transaction") =>
      inDatabaseSpan(
        name,
        () => withDeadline((pool, isExpired) => transact(pool, work, isExpired)),
      ),
    async close() {
      await Promise.all([...ending, pool.end({ timeout: GRACE_SECONDS })]);
    },
  };
}

type Work<T> = (pool: postgres.Sql, isExpired: () => boolean) => Promise<T>;

/**
 * The driver's `begin`, with two corrections.
 * After the deadline its statements are rejected and it rolls back, because the caller got an error.
 * (The outcome of a commit that is already sent is unknown.)
 * After the connection is lost the driver would still send the next statement and a rollback, and that
 * connection would never work again. So nothing more is sent, and a failure of `work` that is caused by
 * the loss is not passed to the driver, which ends the transaction by itself.
 */
function transact<T>(
  pool: postgres.Sql,
  work: (sql: Sql) => Promise<T>,
  isExpired: () => boolean,
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

/** Rejects statements if `findError` returns one; `sql(columns)`, which builds a part, still works. */
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

function openPool({ url, poolSize }: { url: string; poolSize: number }): postgres.Sql {
  return postgres(url, {
    max: poolSize,
    connect_timeout: 2,
    // The default backoff waits up to 20 s; this one reconnects soon after the database is back.
    backoff: () => 0.2,
    onnotice: () => {},
    // Amounts are whole rupiah with at most 13 digits, which a number holds exactly.
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
    connection: {
      application_name: "payment-gateway",
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      // Plan each statement once: its plan does not depend on the values of the parameters.
      plan_cache_mode: "force_generic_plan",
      // Every statement reads a few rows by an index that was created for it. With its default costs
      // for spinning disks, with incremental sorts, or while tables are small, PostgreSQL sometimes
      // plans to read a whole table, or all rows of an owner. When there are many rows, such a plan
      // takes seconds.
      random_page_cost: 1.1,
      enable_incremental_sort: "off",
      enable_seqscan: "off",
      enable_hashjoin: "off",
      enable_mergejoin: "off",
      enable_material: "off",
      // Before version 18, a plan that uses something switched off above has a cost of billions, and
      // PostgreSQL compiles plans with high costs: that takes seconds, for statements that take
      // milliseconds.
      jit: "off",
    },
  });
}

/** Error codes of the driver and the system for a connection that is lost or cannot be made. */
const LOST_CONNECTION = new Set([
  "CONNECT_TIMEOUT",
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
  "CONNECTION_ENDED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
]);

/** SQLSTATEs of a server that is starting, stopping, full, read-only (a replica) or too slow. */
const UNAVAILABLE_STATE = /^(08...|53...|57P0.|57014|28...|3D000|25006)$/;

function meansUnavailable(error: unknown): boolean {
  return meansLostConnection(error) || UNAVAILABLE_STATE.test(codeOf(error));
}

function meansLostConnection(error: unknown): boolean {
  return LOST_CONNECTION.has(codeOf(error)) || /^57P0/.test(codeOf(error));
}

/** The name of the constraint that a rejected row violates, or an empty string. */
export function constraintOf(error: unknown): string {
  return String((error as { constraint_name?: unknown } | null)?.constraint_name ?? "");
}

/** The SQLSTATE of a row whose key exists already. */
export const UNIQUE_VIOLATION = "23505";

/** The SQLSTATE, or the driver's or system's error code, or an empty string. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
