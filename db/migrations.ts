/** Migrates the database's schema: numbered SQL files, each applied once, under a lock. */

import { createHash } from "node:crypto";
import postgres from "postgres";
import type { Sql } from "./database.ts";

export interface Migration {
  /** The file name without its extension, such as `0001_api_keys`. */
  name: string;
  sql: string;
  checksum: string;
}

export class MigrationRefused extends Error {
  override name = "MigrationRefused";
}

const OLDEST_POSTGRES = 15;

/** Id of the advisory lock that every schema change takes. Its bytes are "gateway" in ASCII. */
const LOCK = 0x67617465776179n;

const FOLDER = new URL("./migrations/", import.meta.url);

export async function loadMigrations(folder: URL = FOLDER): Promise<Migration[]> {
  const migrations: Migration[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.endsWith(".sql")) continue;
    // Git may check the file out with CRLF line endings, which must not change the checksum.
    const sql = (await Deno.readTextFile(new URL(name, folder))).replaceAll("\r\n", "\n");
    const checksum = createHash("sha256").update(sql).digest("hex");
    migrations.push({ name: name.slice(0, -".sql".length), sql, checksum });
  }
  return migrations.sort((a, b) => a.name < b.name ? -1 : 1);
}

/**
 * Applies pending migrations and returns their names. Each file has its own transaction, which takes
 * the lock first. If several instances start at the same time, one of them applies the file; the
 * others get the lock later and find that the file is applied. If nothing is pending, the function
 * only reads, so that the service can run with a database role that cannot change the schema.
 */
export async function migrate(url: string, migrations: Migration[]): Promise<string[]> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {} });
  try {
    refuseOldServer(await serverVersion(sql));
    const known = await readApplied(sql);
    if (!known) await sql.begin(createSchema);
    const applied: string[] = [];
    for (const migration of migrations) {
      if (known && isApplied(known, migration)) continue;
      const isNew = await sql.begin(async (sql) => {
        await takeLock(sql);
        return await applyOnce(sql, migration);
      });
      if (isNew) applied.push(migration.name);
    }
    return applied;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** The names of the migrations that are not applied to this database. */
export async function findPending(sql: Sql, migrations: Migration[]): Promise<string[]> {
  const applied = await readApplied(sql);
  return migrations.map(({ name }) => name).filter((name) => !applied?.has(name));
}

export function refuseOldServer(major: number): void {
  if (major >= OLDEST_POSTGRES) return;
  throw new MigrationRefused(
    `The database is PostgreSQL ${major}; version ${OLDEST_POSTGRES} or newer is required.`,
  );
}

async function serverVersion(sql: Sql): Promise<number> {
  const [row] = await sql<[{ version: number }]>`
    select current_setting('server_version_num')::int / 10000 as version`;
  return row.version;
}

/** The checksums of the applied migrations by name; null: the table does not exist yet. */
async function readApplied(sql: Sql): Promise<Map<string, string> | null> {
  const [table] = await sql`select to_regclass('gateway.migrations') as name`;
  if (!table?.name) return null;
  const rows = await sql<{ name: string; checksum: string }[]>`
    select name, checksum from gateway.migrations`;
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

async function createSchema(sql: Sql): Promise<void> {
  await takeLock(sql);
  await sql`create schema if not exists gateway`;
  await sql`
    create table if not exists gateway.migrations (
      name text primary key,
      checksum text not null,
      applied_at timestamptz not null default now()
    )`;
}

/** Throws if the migration was applied and its file was changed afterwards. */
function isApplied(known: Map<string, string>, { name, checksum }: Migration): boolean {
  const stored = known.get(name);
  if (stored === undefined || stored === checksum) return stored === checksum;
  throw new MigrationRefused(
    `Migration ${name} was applied to this database with other content: its file was changed ` +
      "afterwards. Restore the file, and make the change in a new migration.",
  );
}

async function applyOnce(sql: Sql, migration: Migration): Promise<boolean> {
  const known = await readApplied(sql);
  if (known && isApplied(known, migration)) return false;
  const { name, checksum } = migration;
  await sql.unsafe(migration.sql);
  await sql`insert into gateway.migrations (name, checksum) values (${name}, ${checksum})`;
  return true;
}

/** Held until the transaction ends. */
export async function takeLock(sql: Sql): Promise<void> {
  await sql`select pg_advisory_xact_lock(${LOCK.toString()}::bigint)`;
}
