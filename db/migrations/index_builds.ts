/**
 * Builds the indexes of migrations without blocking writes. A plain `create index` blocks
 * all writes to the table until the index is complete, which takes seconds per million rows.
 */

import type { Sql } from "../connection/database.ts";

/** A `create index` statement of a migration. */
export interface IndexBuild {
  name: string;
  /** The name of the table, with its schema. */
  table: string;
  isUnique: boolean;
  /** The text after the table's name. */
  definition: string;
}

/** A quoted text, a comment, or a single character. */
const TOKEN = /'[^']*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|--.*|\/\*[\s\S]*?\*\/|[\s\S]/g;

/** The statements of a migration, without comments. */
export function splitStatements(sql: string): string[] {
  const statements = [""];
  for (const [token] of sql.matchAll(TOKEN)) {
    if (token === ";") statements.push("");
    else if (!/^(--|\/\*)/.test(token)) statements[statements.length - 1] += token;
  }
  return statements.map((text) => text.trim()).filter((text) => text !== "");
}

const CREATE_INDEX =
  /^create\s+(unique\s+)?index\s+(?:if\s+not\s+exists\s+)?(\w+)\s+on\s+(gateway\.\w+)\s*(.*)$/is;

/** Null: the statement does not create an index. */
export function parseIndexBuild(statement: string): IndexBuild | null {
  const match = statement.match(CREATE_INDEX);
  if (!match) return null;
  const [, unique, name, table, definition] = match;
  return { name: name!, table: table!, isUnique: unique !== undefined, definition: definition! };
}

/** False: a plain `create index` takes no time, so the index needs no concurrent build. */
export async function hasRows(sql: Sql, { table }: IndexBuild): Promise<boolean> {
  const [found] = await sql`select to_regclass(${table}) as name`;
  if (!found?.name) return false;
  return (await sql.unsafe(`select from ${table} limit 1`)).length > 0;
}

/**
 * Builds the index unless it exists. If a build is interrupted, PostgreSQL leaves an invalid index,
 * which is dropped and built again. Must not run in a transaction.
 */
export async function buildConcurrently(sql: Sql, build: IndexBuild): Promise<void> {
  const { name, table, isUnique, definition } = build;
  const [existing] = await sql<[{ is_valid: boolean }?]>`
    select indisvalid as is_valid from pg_index
    where indexrelid = to_regclass(${`gateway.${name}`})`;
  if (existing?.is_valid) return;
  if (existing) await sql.unsafe(`drop index concurrently gateway.${name}`);
  const kind = isUnique ? "unique index" : "index";
  await sql.unsafe(`create ${kind} concurrently ${name} on ${table} ${definition}`);
}
