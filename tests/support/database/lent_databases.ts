/** Databases that tests use one after the other: to restore one is faster than to create one. */

import type { Sql } from "../../../db/connection/database.ts";
import { openPool } from "./pools.ts";

/** Restored databases that no test uses. */
const free: string[] = [];

/** The databases of the running test; null: no test is running. */
let lent: string[] | null = null;

Deno.test.beforeEach(() => {
  lent = [];
});

Deno.test.afterEach(async () => {
  const returned = lent ?? [];
  lent = null;
  for (const url of returned) {
    if (await restore(url)) free.push(url);
  }
});

export function isTestRunning(): boolean {
  return lent !== null;
}

/** Lends the running test a database that equals a new one. */
export async function lend(createNew: () => Promise<string>): Promise<string> {
  const url = free.pop() ?? await createNew();
  template ??= await inTransaction(url, readTemplate);
  lent!.push(url);
  return url;
}

interface Template {
  catalog: string;
  /** The tables in which migrations have inserted no rows. */
  emptyTables: string[];
  /** Restores the other tables and the sequences. */
  restore: string;
}

/** Read once, because all databases of a run are copies of the same template. */
let template: Template | null = null;

/** If more rows are deleted, the database is not reused: they would slow down the next tests. */
const MAX_ROWS = 1_000;

/** Makes the database equal to a new one; false: that is not possible, so it is not used again. */
async function restore(url: string): Promise<boolean> {
  const { catalog, emptyTables, restore } = template!;
  try {
    return await inTransaction(url, async (sql) => {
      const current = await readState(sql, emptyTables);
      if (current.catalog !== catalog) return false;
      const statements = [
        // Disables triggers, and with them the checks of foreign keys.
        "set local session_replication_role = replica",
        ...current.filledTables.map((name) => `delete from ${name}`),
        restore,
      ];
      const results = await sql.unsafe(statements.join(";\n")).simple() as unknown as {
        count: number | null;
      }[];
      return results.reduce((sum, { count }) => sum + (count ?? 0), 0) <= MAX_ROWS;
    });
  } catch {
    // The test may have locked rows, closed the database or dropped it.
    return false;
  }
}

async function inTransaction<T>(url: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const database = openPool({ url, poolSize: 4 });
  try {
    return await database.transaction(work);
  } finally {
    await database.close();
  }
}

/**
 * Each change of the schema adds rows to these tables or deletes some; a new row has a higher xmin.
 */
const CATALOG_TABLES = [
  "pg_attrdef",
  "pg_attribute",
  "pg_class",
  "pg_constraint",
  "pg_index",
  "pg_namespace",
  "pg_proc",
  "pg_statistic",
  "pg_trigger",
];

interface State {
  catalog: string;
  /** Those of the given tables that have rows. */
  filledTables: string[];
}

/** One statement, which the connection plans once. */
async function readState(sql: Sql, tables: string[]): Promise<State> {
  const states = CATALOG_TABLES.map((name) =>
    `(select count(*) || ' ' || coalesce(max(xmin::text::bigint), 0) from ${name})`
  );
  const settings = `(select count(*)::text from pg_db_role_setting
    where setdatabase = (select oid from pg_database where datname = current_database()))`;
  const filled = tables.map((name) => `case when exists (select from ${name}) then '${name}' end`);
  const [row] = await sql.unsafe(
    `select concat_ws(', ', ${[...states, settings]}) as catalog,
       array_remove(array[${filled}]::text[], null) as filled`,
    [],
    { prepare: true },
  );
  return { catalog: row!.catalog, filledTables: row!.filled };
}

async function readTemplate(sql: Sql): Promise<Template> {
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('information_schema', 'pg_catalog') order by name`;
  const sequences = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, sequencename) as name from pg_sequences`;
  const emptyTables: string[] = [];
  const statements = sequences.map(({ name }) => `select setval('${name}', 1, false)`);
  for (const { name } of tables) {
    const [row] = await sql.unsafe(`select json_agg(t)::text as rows from ${name} t`);
    if (!row!.rows) {
      emptyTables.push(name);
      continue;
    }
    const values = `json_populate_recordset(null::${name}, '${row!.rows.replaceAll("'", "''")}')`;
    statements.push(`delete from ${name}`, `insert into ${name} select * from ${values}`);
  }
  const { catalog } = await readState(sql, []);
  return { catalog, emptyTables, restore: statements.join(";\n") };
}
