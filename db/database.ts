/** The connection pool: every statement has a deadline, and an absent database is one known error. */

import postgres from "postgres";

/** Takes tagged templates; the pool's own or a transaction's. */
export type Sql = postgres.ISql;

export interface Database {
  /** Runs statements that stand alone. */
  query<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Runs statements that happen all or not at all. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The database did not answer in time or could not be reached; the cause says which. */
export class DatabaseUnavailable extends Error {
  override name = "DatabaseUnavailable";
}

/** Callers hear "unavailable" within 2 s; this leaves the rest of a request its share of them. */
const DEADLINE_MS = 1_800;

/** Below the deadline, so that a slow statement ends at the server, not only in our patience. */
const STATEMENT_TIMEOUT_MS = 1_500;

/** Locks of an instance that froze in a transaction are freed after this. */
const IDLE_IN_TRANSACTION_MS = 10_000;

export function openDatabase(options: { url: string; poolSize: number }): Database {
  let pool = openPool(options);
  let lastAnswer = 0;

  async function withDeadline<T>(work: (pool: postgres.Sql) => Promise<T>): Promise<T> {
    const used = pool;
    const began = performance.now();
    const { promise: deadline, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      // Silence on every connection since we asked: they may be dead without knowing it (a server
      // that vanished closes nothing), so begin anew. Were it only slow, others had been answered.
      if (used === pool && lastAnswer < began) {
        pool = openPool(options);
        used.end({ timeout: 0 });
      }
      reject(new DatabaseUnavailable(`No answer from the database within ${DEADLINE_MS} ms`));
    }, DEADLINE_MS);
    try {
      const result = await Promise.race([work(used), deadline]);
      lastAnswer = performance.now();
      return result;
    } catch (error) {
      if (meansUnavailable(error)) {
        throw new DatabaseUnavailable("The database is not available", { cause: error });
      }
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    query: (work) => withDeadline(work),
    transaction: <T>(work: (sql: Sql) => Promise<T>) =>
      withDeadline(async (sql) => await sql.begin(work) as T),
    close: () => pool.end({ timeout: 5 }),
  };
}

function openPool({ url, poolSize }: { url: string; poolSize: number }): postgres.Sql {
  return postgres(url, {
    max: poolSize,
    connect_timeout: 2,
    // The default waits up to 20 s between attempts: too long for "back by itself".
    backoff: () => 0.2,
    onnotice: () => {},
    connection: {
      application_name: "payment-gateway",
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    },
  });
}

/**
 * SQLSTATE classes and codes of a server that is away, starting, stopping, overfull, read-only
 * (a replica during a failover) or too slow; and what the driver and the system say without one.
 */
const UNAVAILABLE_STATES = /^(08...|53...|57P0.|57014|28...|3D000|25006)$/;
const UNAVAILABLE_CAUSES = new Set([
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

export function meansUnavailable(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  const code = String(error.code);
  return UNAVAILABLE_CAUSES.has(code) || UNAVAILABLE_STATES.test(code);
}
