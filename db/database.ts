/** The connection pool: every statement has a deadline, and an absent database is one known error. */

import postgres from "postgres";
import { inDatabaseSpan } from "./span.ts";

/** Takes tagged templates; the pool's own or a transaction's. */
export type Sql = postgres.ISql;

/** Both take a name that says in two or three words what for: `insert payment`. Traces show it. */
export interface Database {
  /** Runs statements that stand alone. */
  query<T>(work: (sql: Sql) => Promise<T>, name?: string): Promise<T>;
  /** Runs statements that happen all or not at all. */
  transaction<T>(work: (sql: Sql) => Promise<T>, name?: string): Promise<T>;
  close(): Promise<void>;
}

/** The database did not answer in time or could not be reached; the cause says which. */
export class DatabaseUnavailable extends Error {
  override name = "DatabaseUnavailable";
}

/** Callers hear "unavailable" within 2 s; this leaves the rest of a request its share of them. */
export const DEADLINE_MS = 1_800;

/** Below the deadline, so that a slow statement ends at the server, not only in our patience. */
const STATEMENT_TIMEOUT_MS = 1_500;

/** What runs when its pool is closed may take this long to finish: more than its deadline. */
const GRACE_SECONDS = 2;

/** Locks of an instance that froze in a transaction are freed after this. */
const IDLE_IN_TRANSACTION_MS = 10_000;

export function openDatabase(options: { url: string; poolSize: number }): Database {
  let pool = openPool(options);
  let lastAnswer = 0;
  const ending = new Set<Promise<void>>();

  /**
   * Any trouble with a connection ends its whole pool, for the driver can take a broken one back in
   * a state in which it never works again. What still runs on the others may finish.
   */
  function renew(broken: postgres.Sql, graceSeconds: number) {
    if (broken !== pool) return;
    pool = openPool(options);
    const end = broken.end({ timeout: graceSeconds }).finally(() => ending.delete(end));
    ending.add(end);
  }

  async function withDeadline<T>(work: Work<T>): Promise<T> {
    const used = pool;
    const began = performance.now();
    const { promise: deadline, reject } = Promise.withResolvers<never>();
    let isOver = false;
    const timer = setTimeout(() => {
      isOver = true;
      // Silence on every connection since we asked: they may be dead without knowing it (a server
      // that vanished closes nothing). Were the database only slow, others had been answered.
      if (lastAnswer < began) renew(used, 0);
      reject(new DatabaseUnavailable(`No answer from the database within ${DEADLINE_MS} ms`));
    }, DEADLINE_MS);
    try {
      const result = await Promise.race([work(used, () => isOver), deadline]);
      lastAnswer = performance.now();
      return result;
    } catch (error) {
      if (error instanceof postgres.PostgresError) lastAnswer = performance.now();
      if (!meansUnavailable(error)) throw error;
      if (meansLostConnection(error)) renew(used, GRACE_SECONDS);
      throw new DatabaseUnavailable("The database is not available", { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    query: (work, name = "query") => inDatabaseSpan(name, () => withDeadline(work)),
    transaction: (work, name = "transaction") =>
      inDatabaseSpan(name, () => withDeadline((pool, isOver) => transact(pool, work, isOver))),
    async close() {
      await Promise.all([...ending, pool.end({ timeout: GRACE_SECONDS })]);
    },
  };
}

type Work<T> = (pool: postgres.Sql, isOver: () => boolean) => Promise<T>;

/**
 * The driver's `begin`, with two things mended.
 * Past its deadline a transaction goes no further: what it asks next is refused and it rolls back,
 * for its caller has been told that it failed. (Of a commit that is already under way nobody knows.)
 * Over a lost connection the driver would still send what is asked next, and a rollback, and never
 * get that connection to work again: so nothing is sent any more, and `work` that fails of the loss
 * never ends for the driver, which gives up by itself.
 */
function transact<T>(
  pool: postgres.Sql,
  work: (sql: Sql) => Promise<T>,
  isOver: () => boolean,
): Promise<T> {
  let isLost = false;
  const refusal = () => new DatabaseUnavailable("The transaction is over");
  const begun = pool.begin((sql) =>
    new Promise<T>((resolve, reject) => {
      const guarded = guard(sql, () => isLost || isOver() ? refusal() : null);
      work(guarded).then(
        (result) => isOver() ? reject(refusal()) : resolve(result),
        (error) => isLost || meansLostConnection(error) || reject(error),
      );
    })
  );
  begun.catch(() => isLost = true);
  return begun as Promise<T>;
}

/** Refuses statements; what only builds a part of one (`sql(columns)`) goes through. */
function guard(sql: postgres.TransactionSql, refused: () => Error | null): postgres.TransactionSql {
  const orRefuse = <T>(run: () => T) => {
    const error = refused();
    return error ? Promise.reject(error) : run();
  };
  return new Proxy(sql, {
    apply: (target, self, args) =>
      args[0]?.raw
        ? orRefuse(() => Reflect.apply(target, self, args))
        : Reflect.apply(target, self, args),
    get: (target, name) =>
      name === "unsafe"
        ? (...args: Parameters<Sql["unsafe"]>) => orRefuse(() => target.unsafe(...args))
        : Reflect.get(target, name),
  });
}

function openPool({ url, poolSize }: { url: string; poolSize: number }): postgres.Sql {
  return postgres(url, {
    max: poolSize,
    connect_timeout: 2,
    // The default waits up to 20 s between attempts: too long for "back by itself".
    backoff: () => 0.2,
    onnotice: () => {},
    // Amounts are whole rupiah of 13 digits at most, which numbers hold exactly.
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
    connection: {
      application_name: "payment-gateway",
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      // One plan for each statement, made once: none gets better by knowing its values.
      plan_cache_mode: "force_generic_plan",
      // What we ask for is a few rows in an index that was made for it. As on a turning disk, with
      // sorting by halves, or while tables are still small, PostgreSQL at times expects to find them
      // sooner by reading a whole table, or all of an owner's rows; and once they are many is wrong
      // by seconds.
      random_page_cost: 1.1,
      enable_incremental_sort: "off",
      enable_seqscan: "off",
      enable_hashjoin: "off",
      enable_mergejoin: "off",
      enable_material: "off",
      // Before 18 what is off costs billions in a plan, and plans that dear would be compiled: seconds
      // of it, for statements that take milliseconds.
      jit: "off",
    },
  });
}

/** What the driver and the system say of a connection that is gone or does not come about. */
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

/** What a server says that is starting, stopping, overfull, read-only (a replica) or too slow. */
const UNAVAILABLE_STATE = /^(08...|53...|57P0.|57014|28...|3D000|25006)$/;

function meansUnavailable(error: unknown): boolean {
  return meansLostConnection(error) || UNAVAILABLE_STATE.test(codeOf(error));
}

function meansLostConnection(error: unknown): boolean {
  return LOST_CONNECTION.has(codeOf(error)) || /^57P0/.test(codeOf(error));
}

/** Which rule a refused row breaks; empty where it is none. */
export function constraintOf(error: unknown): string {
  return String((error as { constraint_name?: unknown } | null)?.constraint_name ?? "");
}

/** What `codeOf` says of a row that is there already. */
export const UNIQUE_VIOLATION = "23505";

/** The SQLSTATE, or what the driver or the system calls it; empty where there is none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
