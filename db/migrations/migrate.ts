/** Migrates the database's schema: numbered SQL files, each applied once, under a lock. */

import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { codeOf, LOCK_TIMEOUT, meansLostConnection, type Sql } from "../connection/database.ts";
import { findPrimary } from "../connection/primary.ts";
import {
  buildConcurrently,
  hasRows,
  type IndexBuild,
  parseIndexBuild,
  splitStatements,
} from "./index_builds.ts";
import { buildTrigramIndex, needsTrigramIndex } from "./trigram_index.ts";

export interface Migration {
  /** The file name without its extension, such as `0001_api_keys`. */
  name: string;
  sql: string;
  checksum: string;
}

/** Called while migrations are applied. */
export interface MigrationProgress {
  /** A step of a migration begins, such as the build of an index. */
  onStep(migration: string, step: string): void;
  onApplied(migration: string): void;
}

const SILENT: MigrationProgress = { onStep() {}, onApplied() {} };

export class MigrationRefused extends Error {
  override name = "MigrationRefused";
}

export const OLDEST_POSTGRES = 15;

/** Id of the advisory lock that every schema change takes. Its bytes are "gateway" in ASCII. */
const LOCK = 0x67617465776179n;

const FOLDER = new URL("./", import.meta.url);

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
 * Applies pending migrations one file at a time, each under the lock, and returns their names. If
 * several instances start at the same time, one of them applies a file; the others get the lock
 * later and find that the file is applied. If nothing is pending, the function only reads, so that
 * the service can run with a database role that cannot change the schema.
 */
export async function migrate(
  url: string,
  migrations: Migration[],
  progress = SILENT,
): Promise<string[]> {
  const sql = postgres((await findPrimary(url)).url, {
    max: 1,
    connect_timeout: 5,
    onnotice: () => {},
  });
  try {
    refuseOldServer(await serverVersion(sql));
    const known = await readApplied(sql);
    refusePreview(known);
    if (!known) await underLock(sql, createSchema);
    const applied: string[] = [];
    for (const migration of migrations) {
      if (known && isApplied(known, migration)) continue;
      if (!await applyUnderLock(sql, migration, progress)) continue;
      applied.push(migration.name);
      progress.onApplied(migration.name);
    }
    if (await needsTrigramIndex(sql)) {
      await underLock(sql, (connection) => {
        progress.onStep("search", "building the index of parts of texts");
        return buildTrigramIndex(connection);
      });
    }
    return applied;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** False: another instance has applied it. */
async function applyUnderLock(
  sql: postgres.Sql,
  migration: Migration,
  progress: MigrationProgress,
): Promise<boolean> {
  progress.onStep(migration.name, "waiting for another process that migrates this database");
  return await underLock(sql, (connection) => {
    progress.onStep(migration.name, "applying statements");
    return applyOnce(connection, migration, progress);
  });
}

async function underLock<T>(
  sql: postgres.Sql,
  change: (connection: Sql) => Promise<T>,
): Promise<T> {
  // One connection, because it holds the lock. If the connection is lost, so is the lock.
  const connection = await sql.reserve();
  try {
    // Building an index of a large table takes long, and no request waits for it.
    await connection`set statement_timeout = 0`;
    await takeLock(connection);
    const result = await change(connection);
    await connection`select pg_advisory_unlock(${LOCK.toString()}::bigint)`;
    return result;
  } finally {
    connection.release();
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

/** The first migration of the versions before 1.0.0, whose schema is another. */
const FIRST_OF_PREVIEW = "0001_api_keys";

function refusePreview(known: Map<string, string> | null): void {
  if (!known?.has(FIRST_OF_PREVIEW)) return;
  throw new MigrationRefused(
    "This database was created by a version before 1.0.0. Stop all instances, and run " +
      'deploy/upgrade-from-preview.sql as docs/production.md says under "Upgrading".',
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
  if (stored === undefined) return false;
  if (stored === checksum) return true;
  throw new MigrationRefused(
    `Migration ${name} was applied to this database with other content: its file was changed ` +
      "afterwards. Restore the file, and make the change in a new migration.",
  );
}

/**
 * Applies a migration in one transaction, except for two kinds of statements that run after it:
 * builds of indexes on tables that have rows, and calls of procedures, which commit after each
 * batch of rows. In a transaction, both would block writes until its end. Until they are done, the
 * migration is recorded as `… without indexes`, so that an interrupted migration continues there.
 * It then calls its procedures again, so these must skip the rows that are done.
 */
async function applyOnce(
  connection: Sql,
  migration: Migration,
  { onStep }: MigrationProgress,
): Promise<boolean> {
  const known = await readApplied(connection);
  if (known && isApplied(known, migration)) return false;
  const { checksum } = migration;
  const withoutIndexes = { ...migration, name: `${migration.name} without indexes` };
  const isInterrupted = known !== null && isApplied(known, withoutIndexes);
  const { indexes, calls, rest } = await separate(connection, migration, isInterrupted);
  if (indexes.length + calls.length === 0) {
    await applyStatements(connection, migration, migration.sql);
    return true;
  }
  if (!isInterrupted) await applyStatements(connection, withoutIndexes, rest.join(";\n"));
  for (const call of calls) {
    onStep(migration.name, call);
    await connection.unsafe(call);
  }
  for (const index of indexes) {
    onStep(migration.name, `building index ${index.name} of ${index.table}`);
    await buildConcurrently(connection, index);
  }
  await connection`
    update gateway.migrations set name = ${migration.name}, applied_at = now()
    where name = ${withoutIndexes.name} and checksum = ${checksum}`;
  return true;
}

interface Separated {
  /** To be built concurrently. After an interruption: all indexes; existing ones are kept. */
  indexes: IndexBuild[];
  /** Calls of procedures. */
  calls: string[];
  rest: string[];
}

async function separate(
  connection: Sql,
  { sql }: Migration,
  isInterrupted: boolean,
): Promise<Separated> {
  const indexes: IndexBuild[] = [];
  const calls: string[] = [];
  const rest: string[] = [];
  for (const statement of splitStatements(sql)) {
    const index = parseIndexBuild(statement);
    if (index && (isInterrupted || await hasRows(connection, index))) indexes.push(index);
    else if (/^call\s/i.test(statement)) calls.push(statement);
    else rest.push(statement);
  }
  return { indexes, calls, rest };
}

/** Short, because while a statement waits for a table's lock, all later ones of that table wait. */
const TABLE_LOCK_TIMEOUT = "200ms";

/** A pause in which the statements that waited can run. */
const LOCK_PAUSE_MS = 500;

/** Runs the statements in one transaction. Tries again until they get the locks they need. */
async function applyStatements(
  connection: Sql,
  { name, checksum }: Migration,
  statements: string,
): Promise<void> {
  for (;;) {
    try {
      await connection`begin`;
      await connection.unsafe(`set local lock_timeout = '${TABLE_LOCK_TIMEOUT}'`);
      await connection.unsafe(statements);
      await connection`insert into gateway.migrations (name, checksum) values (${name}, ${checksum})`;
      await connection`commit`;
      return;
    } catch (error) {
      // If the connection is lost, the server rolls back by itself, and the driver cannot send.
      if (!meansLostConnection(error)) await connection`rollback`.catch(() => {});
      if (codeOf(error) !== LOCK_TIMEOUT) throw error;
      await delay(LOCK_PAUSE_MS);
    }
  }
}

const LOCK_POLL_MS = 100;

/**
 * Polls outside of a transaction. The holder of the lock may be building an index concurrently, and
 * PostgreSQL finishes that only after older statements, and transactions that have run one, have
 * ended: neither may wait for the lock.
 */
async function takeLock(sql: Sql): Promise<void> {
  for (;;) {
    const [row] = await sql`select pg_try_advisory_lock(${LOCK.toString()}::bigint) as taken`;
    if (row!.taken) return;
    await delay(LOCK_POLL_MS);
  }
}
