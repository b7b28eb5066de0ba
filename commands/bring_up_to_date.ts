/** Waits for the database where it has to, and migrates it. */

import { setTimeout as delay } from "node:timers/promises";
import { meansUnavailable } from "../db/database.ts";
import { migrate, type Migration, MigrationRefused } from "../db/migrations.ts";
import { Failure } from "./failure.ts";
import { say } from "./say.ts";

/** Service and database are often started together, and the database takes longer. */
const PATIENCE_MS = 30_000;

export async function bringUpToDate(url: string, migrations: Migration[]): Promise<string[]> {
  const deadline = Date.now() + PATIENCE_MS;
  for (let told = false;;) {
    try {
      return await migrate(url, migrations);
    } catch (error) {
      if (error instanceof MigrationRefused) throw new Failure(error.message);
      if (!meansUnavailable(error)) throw error;
      const reason = (error as Error).message;
      if (isRejection(error) || Date.now() > deadline) {
        throw new Failure(`The database at ${withoutSecrets(url)} does not let us in: ${reason}`);
      }
      if (!told) say(`Waiting for the database at ${withoutSecrets(url)} (${reason})`);
      told = true;
      await delay(500);
    }
  }
}

/** A wrong password or database name: waiting does not mend it. */
function isRejection(error: unknown): boolean {
  return /^(28...|3D000)$/.test(String((error as { code?: unknown }).code));
}

function withoutSecrets(url: string): string {
  const { host, pathname } = new URL(url);
  return host + pathname;
}
