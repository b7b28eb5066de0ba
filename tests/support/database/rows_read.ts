/**
 * Counts the rows that PostgreSQL reads, to test that a query does not read more in a larger table.
 */

import { type Database, openDatabase, type Sql } from "../../../db/connection/database.ts";
import { PATIENT_DEADLINE_MS } from "./pools.ts";

/** Counts the index entries and rows of all tables that `work` reads. */
export async function rowsRead(
  databaseUrl: string,
  work: (database: Database) => Promise<unknown>,
): Promise<number> {
  const database = openForCounting(databaseUrl);
  try {
    return await rowsReadBy(database, work);
  } finally {
    await database.close();
  }
}

export function openForCounting(databaseUrl: string): Database {
  return openDatabase({ url: databaseUrl, poolSize: 1, deadlineMs: PATIENT_DEADLINE_MS });
}

/**
 * Like `rowsRead`, over the connection of `openForCounting`. All statements run in one transaction,
 * and only this connection's counters are read: other connections report theirs at any time.
 */
export async function rowsReadBy(
  database: Database,
  work: (database: Database) => Promise<unknown>,
): Promise<number> {
  return await database.transaction(async (sql) => {
    const before = await readSoFar(sql);
    await work({ ...database, query: (read) => read(sql), transaction: (change) => change(sql) });
    return await readSoFar(sql) - before;
  });
}

/** What this connection has counted and not reported yet; it reports only between transactions. */
async function readSoFar(sql: Sql): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select coalesce(sum(pg_stat_get_xact_tuples_returned(oid)), 0)::int as count
    from pg_class where relnamespace = 'gateway'::regnamespace and relkind in ('r', 'i')`;
  return row!.count;
}
