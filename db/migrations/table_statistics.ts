/** The statistics of tables, by which PostgreSQL plans statements. */

import postgres from "postgres";
import { findPrimary } from "../connection/primary.ts";

/**
 * Analyzes the tables that have rows but no statistics: after a restore, or after a migration that
 * filled a table. Otherwise plans are made without statistics until autovacuum has run. PostgreSQL
 * skips the tables that the role does not own.
 */
export async function analyzeNewTables(url: string): Promise<void> {
  const sql = postgres((await findPrimary(url)).url, {
    max: 1,
    connect_timeout: 5,
    onnotice: () => {},
  });
  try {
    const tables = await sql<{ name: string }[]>`
      select relname as name from pg_class
      where relnamespace = 'gateway'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0
        and not exists (
          select from pg_stats where schemaname = 'gateway' and tablename = relname)`;
    if (tables.length === 0) return;
    await sql`set statement_timeout = 0`;
    // Autovacuum may be analyzing the same table.
    await sql`set lock_timeout = '5s'`;
    for (const { name } of tables) await sql`analyze gateway.${sql(name)}`;
  } finally {
    await sql.end({ timeout: 5 });
  }
}
