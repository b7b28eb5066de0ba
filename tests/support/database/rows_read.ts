/**
 * Counts the rows that PostgreSQL reads, to test that a query does not read more in a larger table.
 */

import { type Database, openDatabase } from "../../../db/connection/database.ts";
import { PATIENT_DEADLINE_MS } from "./pools.ts";

/** Counts index entries and rows of all tables. Only `work` may use the database meanwhile. */
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

/** Opens one connection, because each one keeps its own statistics until it flushes them. */
export function openForCounting(databaseUrl: string): Database {
  return openDatabase({ url: databaseUrl, poolSize: 1, deadlineMs: PATIENT_DEADLINE_MS });
}

/** Like `rowsRead`, over the connection of `openForCounting`. */
export async function rowsReadBy(
  database: Database,
  work: (database: Database) => Promise<unknown>,
): Promise<number> {
  const before = await readSoFar(database);
  await work(database);
  return await readSoFar(database) - before;
}

async function readSoFar(database: Database): Promise<number> {
  await database.query((sql) => sql`select pg_stat_force_next_flush()`);
  const [row] = await database.query((sql) =>
    sql`
      select coalesce((select sum(idx_tup_read) from pg_stat_user_indexes), 0)::int
        + coalesce((select sum(seq_tup_read) from pg_stat_user_tables), 0)::int as count`
  );
  return row!.count;
}
