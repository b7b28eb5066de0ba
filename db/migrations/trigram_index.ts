/**
 * The index by which any part of an order id, an email address or a name is found. It needs the
 * extension pg_trgm, which the role may not be allowed to create, or which the server may not have.
 * So no migration builds the index. Each start tries it again, because an administrator can create
 * the extension later; until then, payments are searched by the beginning of these texts.
 */

import { codeOf, type Sql } from "../connection/database.ts";
import { hasTrigramIndex, TEXT_KINDS, TRIGRAM_INDEX } from "../payments/search.ts";
import { buildConcurrently } from "./index_builds.ts";

const TABLE = "gateway.payment_search_keys";

/** The role may not create the extension or the index, or the server does not have it. */
const REFUSALS = ["42501", "0A000", "58P01"];

/** Only reads. */
export async function needsTrigramIndex(sql: Sql): Promise<boolean> {
  const [table] = await sql`select to_regclass(${TABLE}) as name`;
  return table?.name !== null && !await hasTrigramIndex(sql);
}

/** Builds the index without blocking writes. Does nothing if the server refuses it. */
export async function buildTrigramIndex(connection: Sql): Promise<void> {
  try {
    // In the service's own schema: a role that may create extensions may still not write to public.
    await connection`create extension if not exists pg_trgm schema gateway`;
    const [extension] = await connection<[{ schema: string }]>`
      select extnamespace::regnamespace::text as schema from pg_extension
      where extname = 'pg_trgm'`;
    await buildConcurrently(connection, {
      name: TRIGRAM_INDEX,
      table: TABLE,
      isUnique: false,
      // With `fastupdate`, entries are collected, and one charge of several hundred would have to
      // write them all to the index.
      definition: `using gin (lower(value) ${extension.schema}.gin_trgm_ops)
        with (fastupdate = off) where ${TEXT_KINDS}`,
    });
  } catch (error) {
    if (!REFUSALS.includes(codeOf(error))) throw error;
  }
}
