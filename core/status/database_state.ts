/**
 * `readDatabaseState`: the version of the database, its migrations and connections. For staff and
 * viewers.
 */

import { type Database, type PoolUse, poolUse } from "../../db/connection/database.ts";
import { findPending, type Migration } from "../../db/migrations/migrate.ts";
import { readServerVersion } from "../../db/reports/status.ts";
import { type Caller, requireReadAll } from "../auth/caller.ts";

export interface DatabaseState {
  /** The version of PostgreSQL, such as `18.1`. */
  version: string;
  /** The newest migration that this program knows; null: it knows none. */
  newestMigration: string | null;
  pendingMigrations: number;
  /** The use of the connection pool; null: unknown. */
  pool: PoolUse | null;
}

export async function readDatabaseState(
  { database, migrations }: { database: Database; migrations: Migration[] },
  caller: Caller,
): Promise<DatabaseState> {
  requireReadAll(caller);
  // A copy, because the number of calls changes while the queries below run.
  const pool = poolUse(database);
  const use = pool && { ...pool };
  const version = await database.query(readServerVersion, "read server version");
  const pending = await database.query((sql) => findPending(sql, migrations), "find pending");
  return {
    version,
    newestMigration: migrations.at(-1)?.name ?? null,
    pendingMigrations: pending.length,
    pool: use,
  };
}
