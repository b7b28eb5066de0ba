/** Databases for tests: copies of the migrated template. */

import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { isTestRunning, lend } from "./lent_databases.ts";
import { keepPools } from "./pools.ts";

export const TEMPLATE = "template_gateway";

export interface NewDatabase {
  server?: string;
  name?: string;
  /** Null: the database is empty. */
  template?: string | null;
  /**
   * For tests of connections and statistics: no other test has used the database, and its
   * connections are closed when the test ends.
   */
  isNew?: boolean;
}

/**
 * Creates a database, or reuses one of a test that has ended, and returns its URL. Single
 * databases are not deleted: the whole server is deleted when all tests have ended.
 */
export async function createDatabase(options: NewDatabase = {}): Promise<string> {
  if (Object.keys(options).length > 0) return await createNew(options);
  const url = isTestRunning() ? await lend(createNew) : await createNew();
  keepPools(url);
  return url;
}

async function createNew(options: NewDatabase = {}): Promise<string> {
  const { server = testServerUrl(), template = TEMPLATE } = options;
  const name = options.name ?? `test_${randomUUID().replaceAll("-", "")}`;
  await runSql(
    server,
    `create database ${name} ${template ? `template ${template} strategy file_copy` : ""}`,
  );
  return Object.assign(new URL(server), { pathname: `/${name}` }).href;
}

/** An empty database of a role that may open only this many connections. */
export async function createLimitedDatabase(connections: number): Promise<string> {
  const server = testServerUrl();
  const name = `limited_${randomUUID().replaceAll("-", "")}`;
  await runSql(server, `create role ${name} login password 'p' connection limit ${connections}`);
  await runSql(server, `create database ${name} owner ${name}`);
  const login = { username: name, password: "p", pathname: `/${name}` };
  return Object.assign(new URL(server), login).href;
}

export function testServerUrl(): string {
  const url = Deno.env.get("TEST_SERVER_URL");
  if (!url) {
    throw new Error("There is no test server. Run the tests with `deno task test [FILE…]`.");
  }
  return url;
}

/** Runs a statement over a new connection. */
export async function runSql(
  url: string,
  statement: string,
): Promise<postgres.RowList<postgres.Row[]>> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(statement);
  } finally {
    await sql.end();
  }
}
