/** Waits for the database where it has to, and migrates it. */

import { setTimeout as delay } from "node:timers/promises";
import { codeOf, DatabaseUnavailable, openDatabase } from "../db/database.ts";
import { migrate, type Migration, MigrationRefused } from "../db/migrations.ts";
import { Failure } from "./failure.ts";
import { say } from "./say.ts";

/** Service and database are often started together, and the database takes longer. */
const PATIENCE_MS = 30_000;

const INSUFFICIENT_PRIVILEGE = "42501";

export async function bringUpToDate(url: string, migrations: Migration[]): Promise<string[]> {
  await reach(url);
  try {
    return await migrate(url, migrations);
  } catch (error) {
    if (error instanceof MigrationRefused) throw new Failure(error.message);
    if (codeOf(error) !== INSUFFICIENT_PRIVILEGE) throw error;
    const reason = (error as Error).message;
    throw new Failure(`Migrations are missing, and this role may not apply them: ${reason}`);
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
