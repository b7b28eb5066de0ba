/** The whole content of a database, for tests of what must not be stored. */

import assert from "node:assert/strict";
import { runSql } from "./database.ts";

/** Every row of every table as text. */
export async function dumpDatabase(databaseUrl: string): Promise<string[]> {
  const tables = await runSql(
    databaseUrl,
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_schema not in ('pg_catalog', 'information_schema')`,
  );
  assert.ok(tables.length >= 8);
  const rows = await Promise.all(
    tables.map(({ name }) =>
      runSql(databaseUrl, `select '${name}' || t::text as row from ${name} t`)
    ),
  );
  const texts = rows.flat().map(({ row }) => row as string);
  // Columns of type bytea may contain text.
  return [...texts, ...texts.map(unhex)];
}

function unhex(text: string): string {
  return text.replace(
    /\\x([0-9a-f]+)/g,
    (_, hex: string) =>
      String.fromCharCode(...(hex.match(/../g) ?? []).map((two) => parseInt(two, 16))),
  );
}
