/** Migrates the database's schema: numbered SQL files, each applied once, under a lock. */

import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { codeOf, LOCK_TIMEOUT, meansLostConnection, runTransaction, type Sql } from "./database.ts";
import {
  buildConcurrently,
  hasRows,
  type IndexBuild,
  parseIndexBuild,
  splitStatements,
} from "./index_builds.ts";

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
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {} });
  try {
    refuseOldServer(await serverVersion(sql));
    const known = await readApplied(sql);
    if (!known) await runTransaction(sql, createSchema);
    const applied: string[] = [];
    for (const migration of migrations) {
      if (known && isApplied(known, migration)) continue;
      if (!await applyUnderLock(sql, migration, progress)) continue;
      applied.push(migration.name);
      progress.onApplied(migration.name);
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
  // One connection, because it holds the lock. If the connection is lost, so is the lock.
  const session = await sql.reserve();
  try {
    // Building an index of a large table takes long, and no request waits for it.
    await session`set statement_timeout = 0`;
    progress.onStep(migration.name, "waiting for another process that migrates this database");
    await takeSessionLock(session);
    progress.onStep(migration.name, "applying statements");
    const isNew = await applyOnce(session, migration, progress);
    await session`select pg_advisory_unlock(${LOCK.toString()}::bigint)`;
    return isNew;
  } finally {
    session.release();
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

/**
 * Other checksums that files had. Most are of files whose comments were reworded later: the
 * statements are the same. The one of 0036 is of a text that also created `registered_at`, which
 * 0047 adds to databases without it.
 */
const OTHER_CHECKSUMS: Record<string, string[]> = {
  "0001_api_keys": ["3907d90121d9a78dbaa5adc0a9a06443d48c72d9adbb0c6b2646d3beb3564985"],
  "0002_payments": [
    "e50f0bfd9b0ddfd00673d19747f1d9bf9cb373c132c5966241f606b0f34de804",
    "a1e5142c263f50adc2628483c176d3ff2624aa7186bd27cfb2cae34bd2c5809f",
  ],
  "0003_jobs": ["5fe3e4266f637a56b49b1f5b3e715aa87b50dd46edd3d9bebc474abe32923fce"],
  "0004_notifications": [
    "658683c03e2051f39eee55c2696ca696543b9ec198d5abf089c971af7bbb78a2",
    "d79d6f8df98da84af8672c2d0d2a01c5d9e350fe48b2fb3036e0fafa3c40e7a8",
  ],
  "0005_invoices_and_subscriptions": [
    "5c8a7a3cd86158d501436b0697f6058c53b8316de3659b1fe82da2cae484b54a",
    "b073e038f7a081b28033115b2b5a543f933f69aa0f3cf6a31b263611c8d280dc",
  ],
  "0006_jobs": [
    "757e8e3547e92cc1caec8c17c515eb5f462f2175ecc8cebd11a0aa17d470d1e1",
    "86dddb0b24ed0e82f813e8dbc138dd99de3455c64e2b5b5878a28245d099bf23",
  ],
  "0007_due_jobs": ["1b6ba750531e43c9ae87451230ca1f51fe5ab53d8e43724ab5a5d377599a745a"],
  "0008_webhooks": [
    "fb225929f3bdd2426b80ce8cf55edcf29e620c99c5db2446a9c0d4063254dd12",
    "0c8fced874bd410f6de3a084110ce0a7ce934657bbbde29467fe694f64912d23",
  ],
  "0009_payments_by_order": ["024ca574ffcde8640827d2b7d81b812d2b8db019f3a942b84c8390814cac17a5"],
  "0010_paid_checks_and_account": [
    "ab66fc3442a0141c1e629b840c20afc0697d65c12878995ba6ca4a9beac0c775",
  ],
  "0012_event_positions": ["e95bbe1a53ac6c0aa6c3006582ddd74d736edc76cdecd3292e6e80b349523a2f"],
  "0015_fair_jobs": ["808bbab8bcc64e956ebca78eef9aa33f225d46710ef8909415fe95603f37bf2b"],
  "0025_audit": ["152ac5427c2e0d8ecde2bd80bf2c97448de3bf6940630fda8892f96c7049552a"],
  "0031_reconciliation_sums": ["8446110fc0c27a59ecd278a870fe28925d57d3908388ff8d40be4b3f68972a39"],
  "0033_audit_by_action": ["d11156a4435d34905c30ece1e8255f94761d8017a68338c0f85ccdf0fd408efa"],
  "0036_subscribers": ["014fa40e2810313cf49beb58c44920265ef02dca335f2d9e9bac24998cc6aea1"],
};

/** Throws if the migration was applied and its file was changed afterwards. */
function isApplied(known: Map<string, string>, { name, checksum }: Migration): boolean {
  const stored = known.get(name);
  if (stored === undefined) return false;
  if (stored === checksum || OTHER_CHECKSUMS[name]?.includes(stored)) return true;
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
  session: Sql,
  migration: Migration,
  { onStep }: MigrationProgress,
): Promise<boolean> {
  const known = await readApplied(session);
  if (known && isApplied(known, migration)) return false;
  const { checksum } = migration;
  const withoutIndexes = { ...migration, name: `${migration.name} without indexes` };
  const isInterrupted = known !== null && isApplied(known, withoutIndexes);
  const { indexes, calls, rest } = await separate(session, migration, isInterrupted);
  if (indexes.length + calls.length === 0) {
    await applyStatements(session, migration, migration.sql);
    return true;
  }
  if (!isInterrupted) await applyStatements(session, withoutIndexes, rest.join(";\n"));
  for (const call of calls) {
    onStep(migration.name, call);
    await session.unsafe(call);
  }
  for (const index of indexes) {
    onStep(migration.name, `building index ${index.name} of ${index.table}`);
    await buildConcurrently(session, index);
  }
  await session`
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
  session: Sql,
  { sql }: Migration,
  isInterrupted: boolean,
): Promise<Separated> {
  const indexes: IndexBuild[] = [];
  const calls: string[] = [];
  const rest: string[] = [];
  for (const statement of splitStatements(sql)) {
    const index = parseIndexBuild(statement);
    if (index && (isInterrupted || await hasRows(session, index))) indexes.push(index);
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
  session: Sql,
  { name, checksum }: Migration,
  statements: string,
): Promise<void> {
  for (;;) {
    try {
      await session`begin`;
      await session.unsafe(`set local lock_timeout = '${TABLE_LOCK_TIMEOUT}'`);
      await session.unsafe(statements);
      await session`insert into gateway.migrations (name, checksum) values (${name}, ${checksum})`;
      await session`commit`;
      return;
    } catch (error) {
      // If the connection is lost, the server rolls back by itself, and the driver cannot send.
      if (!meansLostConnection(error)) await session`rollback`.catch(() => {});
      if (codeOf(error) !== LOCK_TIMEOUT) throw error;
      await delay(LOCK_PAUSE_MS);
    }
  }
}

const LOCK_POLL_MS = 100;

/**
 * Takes the lock until the transaction ends. Polls, like `takeSessionLock`, instead of waiting in a
 * statement: PostgreSQL finishes a concurrent index build only after all older statements have
 * ended.
 */
export async function takeLock(sql: Sql): Promise<void> {
  await untilTaken(() =>
    sql`select pg_try_advisory_xact_lock(${LOCK.toString()}::bigint) as taken`
  );
}

async function takeSessionLock(sql: Sql): Promise<void> {
  await untilTaken(() => sql`select pg_try_advisory_lock(${LOCK.toString()}::bigint) as taken`);
}

async function untilTaken(tryToTake: () => Promise<Iterable<postgres.Row>>): Promise<void> {
  for (;;) {
    const [row] = await tryToTake();
    if (row!.taken) return;
    await delay(LOCK_POLL_MS);
  }
}
