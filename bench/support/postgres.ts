/** A PostgreSQL under measurement: with its usual durability, unlike the tests' own. */

import { install } from "../../db/embedded/install.ts";
import { startServer } from "../../db/embedded/server.ts";
import { createDatabase } from "../../tests/support/database/database.ts";

export interface Postgres extends AsyncDisposable {
  /** The address of a new database, empty. */
  createDatabase(name: string): Promise<string>;
}

export async function startPostgres(folder: string): Promise<Postgres> {
  const { url, stop } = await startServer(await install(folder, () => {}));
  return {
    createDatabase: (name) => createDatabase({ server: url, name, template: null }),
    [Symbol.asyncDispose]: stop,
  };
}
