/** Waits for the database where it has to, migrates it, and sees whether it was moved. */

import { setTimeout as delay } from "node:timers/promises";
import type { Queue } from "../core/config/config.ts";
import { codeOf, DatabaseUnavailable, openDatabase } from "../db/database.ts";
import { beginGeneration, isFromElsewhere } from "../db/events.ts";
import { migrate, type Migration, MigrationRefused } from "../db/migrations.ts";
import { QueueRefused, setUpQueue } from "../db/queue.ts";
import { Failure } from "./failure.ts";
import { say } from "./say.ts";

/** Service and database are often started together, and the database takes longer. */
const PATIENCE_MS = 30_000;

const INSUFFICIENT_PRIVILEGE = "42501";

/** With a queue it is set up, for all instances; null leaves it as it is. */
export async function bringUpToDate(
  url: string,
  migrations: Migration[],
  queue: Queue | null,
): Promise<string[]> {
  await reach(url);
  const applied = await changing(
    "Migrations are missing, and this role may not apply them",
    () => migrate(url, migrations),
  );
  if (queue) {
    const isSwitched = await changing(
      "The queue has to be set up, and this role may not do that",
      () => setUpQueue(url, queue),
    );
    if (isSwitched) say(`Jobs of this database are brought by QUEUE=${queue} from now on`);
  }
  await changing(
    "The database was moved to another server, and this role may not adapt it",
    () => seeWhetherMoved(url),
  );
  return applied;
}

async function changing<T>(whatIsNotAllowed: string, change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    const isRefused = error instanceof MigrationRefused || error instanceof QueueRefused;
    if (isRefused) throw new Failure(error.message);
    if (codeOf(error) !== INSUFFICIENT_PRIVILEGE) throw error;
    throw new Failure(`${whatIsNotAllowed}: ${(error as Error).message}`);
  }
}

/** In a database that was copied to another server, events stay in front of all still to come. */
async function seeWhetherMoved(url: string): Promise<void> {
  const database = openDatabase({ url, poolSize: 1 });
  try {
    if (await database.query(isFromElsewhere)) await database.transaction(beginGeneration);
  } finally {
    await database.close();
  }
}

/** Through the pool, whose deadline ends attempts that the driver alone would repeat for ever. */
async function reach(url: string): Promise<void> {
  const database = openDatabase({ url, poolSize: 1 });
  const deadline = Date.now() + PATIENCE_MS;
  try {
    for (let told = false;; told = true) {
      const error = await database.query((sql) => sql`select 1`).then(() => null, (error) => error);
      if (error === null) return;
      if (!(error instanceof DatabaseUnavailable)) throw error;
      const { message } = (error.cause ?? error) as Error;
      if (isRejection(error.cause) || Date.now() > deadline) {
        throw new Failure(`The database at ${withoutSecrets(url)} does not let us in: ${message}`);
      }
      if (!told) say(`Waiting for the database at ${withoutSecrets(url)} (${message})`);
      await delay(500);
    }
  } finally {
    await database.close();
  }
}

/** A wrong password or database name: waiting does not mend it. */
function isRejection(error: unknown): boolean {
  return /^(28...|3D000)$/.test(codeOf(error));
}

function withoutSecrets(url: string): string {
  const { host, pathname } = new URL(url);
  return host + pathname;
}
