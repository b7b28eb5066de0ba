/**
 * Keeps connection pools between tests: to connect and to plan statements again takes longer than
 * most tests.
 */

import {
  type Database,
  type DatabaseOptions,
  DatabaseUnavailable,
  openDatabase,
} from "../../../db/connection/database.ts";

/**
 * How long a call of the database may take: far above the service's own deadline, which statements
 * exceed on a busy machine. A test of the deadline sets it.
 */
export const PATIENT_DEADLINE_MS = 60_000;

/** The deadline if a test has its own proxy: after a fault some calls fail only at the deadline. */
const OUTAGE_DEADLINE_MS = 5_000;

/** Few are enough: a process runs one test at a time, and a test has few instances. */
const MAX_IDLE = 4;

/** Pools that no test uses, in the order in which tests closed them. */
const idle: { key: string; database: Database }[] = [];

/** The URLs of databases that more than one test uses. */
const kept = new Set<string>();

export function keepPools(url: string): void {
  kept.add(url);
}

type PoolOptions = Pick<DatabaseOptions, "url" | "poolSize" | "deadlineMs">;

/** Like `openDatabase`, but `close` keeps the pool if other tests use the database, too. */
export function openPool({ url, poolSize, ...rest }: PoolOptions): Database {
  const defaultDeadlineMs = isDirect(url) ? PATIENT_DEADLINE_MS : OUTAGE_DEADLINE_MS;
  const { deadlineMs = defaultDeadlineMs } = rest;
  const options = { url, poolSize, deadlineMs };
  if (!kept.has(url)) return openThroughPooler(options);
  const key = `${url} ${poolSize} ${deadlineMs}`;
  const index = idle.findLastIndex((pool) => pool.key === key);
  const database = index < 0 ? openKept(options) : idle.splice(index, 1)[0]!.database;
  const running = new Set<Promise<unknown>>();
  let isClosed = false;

  async function track<T>(run: () => Promise<T>): Promise<T> {
    if (isClosed) throw new DatabaseUnavailable("The test closed this database");
    const work = run();
    running.add(work);
    return await work.finally(() => running.delete(work));
  }

  return {
    deadlineMs,
    query: (work, name) => track(() => database.query(work, name)),
    transaction: (work, name) => track(() => database.transaction(work, name)),
    async close() {
      if (isClosed) return;
      isClosed = true;
      await Promise.allSettled(running);
      idle.push({ key, database });
      if (idle.length > MAX_IDLE) await idle.shift()!.database.close();
    },
  };
}

/** Disables the driver's timer for the age of connections: Deno would report it as a leak. */
function openKept(options: PoolOptions): Database {
  return openThroughPooler({ ...options, url: `${options.url}?max_lifetime=0` });
}

/**
 * Opens the pool through PgBouncer if `tests/run.ts` started one, unless the test has its own
 * proxy.
 */
function openThroughPooler(options: PoolOptions): Database {
  const pooler = Deno.env.get("TEST_POOLER");
  if (!pooler || !isDirect(options.url)) return openDatabase(options);
  const url = Object.assign(new URL(options.url), { host: pooler }).href;
  return openDatabase({ ...options, url, pooling: "transaction" });
}

/** Whether the URL is that of the tests' server. A process that a test starts does not know it. */
function isDirect(url: string): boolean {
  const server = Deno.env.get("TEST_SERVER_URL");
  return server === undefined || new URL(url).host === new URL(server).host;
}
