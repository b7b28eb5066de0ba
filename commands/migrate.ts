/** `deno task migrate`: updates the database schema. Commands that use the database do the same. */

import type { Config } from "../core/config/config.ts";
import {
  codeOf,
  type Database,
  INSUFFICIENT_PRIVILEGE,
  openDatabase,
} from "../db/connection/database.ts";
import {
  loadMigrations,
  migrate,
  type Migration,
  type MigrationProgress,
  MigrationRefused,
} from "../db/migrations/migrate.ts";
import { analyzeNewTables } from "../db/migrations/table_statistics.ts";
import { reachDatabase, waitAtConnectionLimit } from "./database_access.ts";
import { joinServer } from "./database_server.ts";
import { Failure, showSteps } from "./terminal.ts";

export async function run(readConfig: () => Config): Promise<void> {
  const config = readConfig();
  await using server = await joinServer(config);
  const { directUrl } = await reachDatabase(await server.start(), config.databaseDirectUrl);
  const migrations = await loadMigrations();
  const applied = await migrateDatabase(directUrl, migrations, console.log);
  if (applied.length === 0) console.log("The database is up to date.");
}

export interface CommandDatabase extends AsyncDisposable {
  database: Database;
}

/**
 * Migrates and opens the database, for a command that runs a few statements. `deadlineMs`: for one
 * whose statements change many rows.
 */
export async function openCommandDatabase(
  config: Config,
  deadlineMs?: number,
): Promise<CommandDatabase> {
  await using resources = new AsyncDisposableStack();
  const server = resources.use(await joinServer(config));
  const access = await reachDatabase(await server.start(), config.databaseDirectUrl);
  await migrateDatabase(access.directUrl, await loadMigrations());
  const database = openDatabase({ ...access, poolSize: 1, deadlineMs });
  resources.defer(() => database.close());
  const owned = resources.move();
  return { database, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** How often a step that still runs is printed. */
const PROGRESS_MS = 5_000;

/**
 * Prints each migration when it is applied, and what still runs: the migration, the index or the
 * procedure, and for how long. Building an index of a large table takes minutes.
 */
export function printProgress(
  print: (line: string) => void,
  everyMs = PROGRESS_MS,
): MigrationProgress & Disposable {
  let current: { migration: string; step: string; startedAt: number } | null = null;
  const secondsSince = (time: number) => Math.round((performance.now() - time) / 1_000);
  const timer = setInterval(() => {
    if (!current) return;
    const { migration, step, startedAt } = current;
    print(`Migration ${migration}: ${step} (${secondsSince(startedAt)} s)`);
  }, everyMs);
  return {
    onStep: (migration, step) => current = { migration, step, startedAt: performance.now() },
    onApplied(migration) {
      current = null;
      print(`Applied migration ${migration}`);
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/**
 * Applies migrations, prints their progress, and returns their names. Without `print`, a terminal
 * shows one line for all of them. The URL must not lead to a pooler in transaction mode.
 */
export async function migrateDatabase(
  url: string,
  migrations: Migration[],
  print?: (line: string) => void,
): Promise<string[]> {
  using steps = showSteps();
  using progress = printProgress(print ?? steps.update);
  const applied = await explainRefusals(
    "Migrations are pending, and this database role is not allowed to apply them",
    () => migrate(url, migrations, progress),
  );
  if (!print && applied.length > 0) {
    steps.update(`Updated the database to ${applied.at(-1)}`);
  }
  // A failure is ignored: autovacuum collects the statistics later.
  await analyzeNewTables(url).catch(() => {});
  return applied;
}

async function explainRefusals<T>(explanation: string, change: () => Promise<T>): Promise<T> {
  try {
    return await waitAtConnectionLimit(change);
  } catch (error) {
    if (error instanceof MigrationRefused) throw new Failure(error.message);
    if (codeOf(error) !== INSUFFICIENT_PRIVILEGE) throw error;
    const { message } = error as Error;
    throw new Failure(
      `${explanation} (${message}). Run \`deno task migrate\` as the role that owns the schema.`,
    );
  }
}
