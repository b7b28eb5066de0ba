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

/** Short, because while a statement waits for the lock of the index, charges wait for it. */
const INDEX_LOCK_TIMEOUT = "200ms";
const LOCK_TIMEOUT = "55P03";

/**
 * New entries are collected in a list of 256 kB, and the charge that fills it writes all of them to
 * the index. To write the entries of each charge at once would cost every charge a third of its
 * processor time in PostgreSQL. See docs/decisions/payment-filters.md.
 */
const STORAGE = { fastupdate: "on", gin_pending_list_limit: "256" };

/** Only reads. */
export async function needsTrigramIndex(sql: Sql): Promise<boolean> {
  const [table] = await sql`select to_regclass(${TABLE}) as name`;
  return table?.name !== null && (!await hasTrigramIndex(sql) || !await hasStorage(sql));
}

async function hasStorage(sql: Sql): Promise<boolean> {
  const options = Object.entries(STORAGE).map(([name, value]) => `${name}=${value}`);
  const [index] = await sql`
    select coalesce(reloptions, '{}') @> ${sql.array(options)}::text[] as has_storage
    from pg_class where oid = to_regclass(${`gateway.${TRIGRAM_INDEX}`})`;
  return index?.has_storage === true;
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
      definition: `using gin (lower(value) ${extension.schema}.gin_trgm_ops)
        with (${storageSql()}) where ${TEXT_KINDS}`,
    });
    if (!await hasStorage(connection)) await changeStorage(connection);
  } catch (error) {
    if (!REFUSALS.includes(codeOf(error))) throw error;
  }
}

/** For an index of an earlier version. If it is in use now, the next start tries again. */
async function changeStorage(connection: Sql): Promise<void> {
  await connection`select set_config('lock_timeout', ${INDEX_LOCK_TIMEOUT}, false)`;
  try {
    await connection.unsafe(`alter index gateway.${TRIGRAM_INDEX} set (${storageSql()})`);
  } catch (error) {
    if (codeOf(error) !== LOCK_TIMEOUT) throw error;
  } finally {
    await connection`reset lock_timeout`;
  }
}

function storageSql(): string {
  return Object.entries(STORAGE).map(([name, value]) => `${name} = ${value}`).join(", ");
}
