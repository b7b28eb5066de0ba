/** A PostgreSQL server with default durability; the tests' server runs with `fsync=off`. */

import { install } from "../../db/embedded/install.ts";
import { startServer } from "../../db/embedded/server.ts";
import { createDatabase, runSql } from "../../tests/support/database/database.ts";

export interface Postgres extends AsyncDisposable {
  /** The URL of a new, empty database. */
  createDatabase(name: string): Promise<string>;
  /** The id of the server's main process; the others are its children. */
  findProcess(): Promise<number>;
}

export async function startPostgres(folder: string): Promise<Postgres> {
  const { url, stop } = await startServer(await install(folder, () => {}));
  return {
    createDatabase: (name) => createDatabase({ server: url, name, template: null }),
    async findProcess() {
      const [row] = await runSql(url, "select pg_read_file('postmaster.pid') as text");
      return parseInt(row!.text);
    },
    [Symbol.asyncDispose]: stop,
  };
}
