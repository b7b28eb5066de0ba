/** `deno task migrate`: updates the database schema. Commands that use the database do the same. */

import { setTimeout as delay } from "node:timers/promises";
import type { Config, Queue } from "../core/config/config.ts";
import { codeOf, type Database, DatabaseUnavailable, openDatabase } from "../db/database.ts";
import { dropReplacedIndexes } from "../db/index_builds.ts";
import { beginGeneration, hasEventsOfOtherServer } from "../db/events.ts";
import { loadMigrations, migrate, type Migration, MigrationRefused } from "../db/migrations.ts";
import { QueueRefused, setUpQueue } from "../db/queue.ts";
import { joinServer } from "./database_server.ts";
import { Failure, printStatus } from "./terminal.ts";

export async function run(readConfig: () => Config): Promise<void> {
  const config = readConfig();
  await using server = await joinServer(config);
  const url = await server.start();
  const applied = await migrateDatabase(url, await loadMigrations(), config.queue);
  for (const name of applied) console.log(`Applied ${name}`);
  if (applied.length === 0) console.log("The database is up to date.");
}

export interface CommandDatabase extends AsyncDisposable {
  database: Database;
}

/** Opens the migrated database for a command that runs a few statements. */
export async function openCommandDatabase(config: Config): Promise<CommandDatabase> {
  await using resources = new AsyncDisposableStack();
  const server = resources.use(await joinServer(config));
  const url = await server.start();
  await migrateDatabase(url, await loadMigrations(), null);
  const database = openDatabase({ url, poolSize: 1 });
  resources.defer(() => database.close());
  const owned = resources.move();
  return { database, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** How long to wait for the database, which often starts together with the service, but slower. */
const CONNECT_TIMEOUT_MS = 30_000;

const INSUFFICIENT_PRIVILEGE = "42501";

/**
 * Waits for the database, applies migrations, and returns their names. Sets up `queue` for all
 * instances; null leaves the queue as it is.
 */
export async function migrateDatabase(
  url: string,
  migrations: Migration[],
  queue: Queue | null,
): Promise<string[]> {
  await waitForDatabase(url);
  const applied = await explainRefusals(
    "Migrations are pending, and this database role is not allowed to apply them",
    () => migrate(url, migrations),
  );
  if (queue) {
    const isSwitched = await explainRefusals(
      "The job queue is not set up, and this database role is not allowed to set it up",
      () => setUpQueue(url, queue),
    );
    if (isSwitched) printStatus(`Job queue backend is now ${queue}`);
  }
  await explainRefusals(
    "The database was copied from another server, and this database role is not allowed to update it",
    () => adaptIfCopied(url),
  );
  // A failure is ignored: this role may not be allowed to drop the indexes, or they are in use. They
  // only make writes slower.
  await dropReplacedIndexes(url).catch(() => {});
  return applied;
}

async function explainRefusals<T>(explanation: string, change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    const isRefused = error instanceof MigrationRefused || error instanceof QueueRefused;
    if (isRefused) throw new Failure(error.message);
    if (codeOf(error) !== INSUFFICIENT_PRIVILEGE) throw error;
    const { message } = error as Error;
    throw new Failure(
      `${explanation} (${message}). Run \`deno task migrate\` as the role that owns the schema.`,
    );
  }
}

/**
 * This server may have lower transaction ids than the server that the database was copied from. New
 * events would then sort before existing ones, so they get the next generation (`currentGeneration`
 * in `db/events.ts`).
 */
async function adaptIfCopied(url: string): Promise<void> {
  const database = openDatabase({ url, poolSize: 1 });
  try {
    if (await database.query(hasEventsOfOtherServer)) await database.transaction(beginGeneration);
  } finally {
    await database.close();
  }
}

/** Uses the pool, because its queries have a time limit. The driver alone would retry forever. */
async function waitForDatabase(url: string): Promise<void> {
  const database = openDatabase({ url, poolSize: 1 });
  const deadline = Date.now() + CONNECT_TIMEOUT_MS;
  try {
    for (let isAnnounced = false;; isAnnounced = true) {
      const error = await database.query((sql) => sql`select 1`).then(() => null, (error) => error);
      if (error === null) return;
      if (!(error instanceof DatabaseUnavailable)) throw error;
      const { message } = (error.cause ?? error) as Error;
      if (isRejection(error.cause) || Date.now() > deadline) {
        throw new Failure(
          `Could not connect to the database at ${withoutSecrets(url)}: ${message}. Check ` +
            "DATABASE_URL.",
        );
      }
      if (!isAnnounced) {
        printStatus(`Waiting for the database at ${withoutSecrets(url)} (${message})`);
      }
      await delay(500);
    }
  } finally {
    await database.close();
  }
}

/** A wrong password or database name, which waiting cannot fix. */
function isRejection(error: unknown): boolean {
  return /^(28...|3D000)$/.test(codeOf(error));
}

function withoutSecrets(url: string): string {
  const { host, pathname } = new URL(url);
  return host + pathname;
}
