/** API keys: the model, and the statements that read and write them. */

import { Buffer } from "node:buffer";
import type { Sql } from "../connection/database.ts";

export interface ApiKey {
  prefix: string;
  user_id: string;
  is_staff: boolean;
  /** Never true together with `is_staff`. */
  is_viewer: boolean;
  is_development: boolean;
  name: string | null;
  /** What the order ids of callers with this key begin with; null: no prefix. */
  order_prefix: string | null;
  created_at: Date;
  last_used_at: Date | null;
  revoked_at: Date | null;
}

/** Limits of `order_prefix`, in characters. */
export const ORDER_PREFIX_LENGTH = { min: 3, max: 9 };

const COLUMNS = [
  "prefix",
  "user_id",
  "is_staff",
  "is_viewer",
  "is_development",
  "name",
  "order_prefix",
  "created_at",
  "last_used_at",
  "revoked_at",
] satisfies (keyof ApiKey)[];

export interface NewApiKey {
  hash: Uint8Array;
  prefix: string;
  user_id: string;
  is_staff: boolean;
  is_viewer: boolean;
  is_development: boolean;
  name: string | null;
  order_prefix: string | null;
}

/**
 * Finds a key by its hash and records its use in the same round trip. The use is recorded at most
 * once a minute, so that a busy key does not update its row with every request. If the row is
 * locked, the use is not recorded.
 */
export async function useApiKey(sql: Sql, hash: Uint8Array): Promise<ApiKey | null> {
  const [row] = await sql<ApiKey[]>`
    with used as (
      update gateway.api_keys set last_used_at = now()
      where hash = (
        select hash from gateway.api_keys
        where hash = ${hash} and revoked_at is null
          and (last_used_at is null or last_used_at < now() - interval '1 minute')
        for update skip locked)
    )
    select ${sql(COLUMNS)}
    from gateway.api_keys where hash = ${hash}`;
  return row ?? null;
}

/**
 * The name of the actor in a column: the name of the API key, or its user if it has no name; the
 * subject of a JWT. Null for actors that are not callers, such as tasks.
 */
export function actorNameSql(sql: Sql, column: string) {
  const actor = sql(column);
  return sql`case
    when starts_with(${actor}, 'jwt:') then substr(${actor}, 5)
    when starts_with(${actor}, 'api_key:') then (
      select coalesce(name, user_id) from gateway.api_keys where prefix = substr(${actor}, 9))
  end`;
}

/** Finds a key by its hash without recording its use. */
export async function findApiKey(sql: Sql, hash: Uint8Array): Promise<ApiKey | null> {
  const [row] = await sql<ApiKey[]>`
    select ${sql(COLUMNS)}
    from gateway.api_keys where hash = ${hash}`;
  return row ?? null;
}

/** Finds several keys by their hashes. Does not record their use. */
export async function findApiKeys(
  sql: Sql,
  hashes: Uint8Array[],
): Promise<(ApiKey & { hash: Uint8Array })[]> {
  const hex = hashes.map((hash) => Buffer.from(hash).toString("hex"));
  return await sql<(ApiKey & { hash: Uint8Array })[]>`
    select hash, ${sql(COLUMNS)}
    from gateway.api_keys
    where hash in (select decode(hex, 'hex') from unnest(${hex}::text[]) as sent (hex))`;
}

/** Inserts the key unless it exists, and returns the stored key. An existing key is not changed. */
export async function ensureApiKey(sql: Sql, key: NewApiKey): Promise<ApiKey> {
  const [row] = await sql<[ApiKey]>`
    insert into gateway.api_keys ${sql({ ...key })}
    on conflict (hash) do update set hash = excluded.hash
    returning ${sql(COLUMNS)}`;
  return row;
}

/**
 * Whether the user may have keys with this prefix: false if it begins like the prefix of another
 * user, or the other way round. Runs in the transaction that inserts the key, one at a time.
 */
export async function canReservePrefix(
  sql: Sql,
  userId: string,
  orderPrefix: string,
): Promise<boolean> {
  await sql`select pg_advisory_xact_lock(hashtextextended('gateway.order_prefixes', 0))`;
  const [other] = await sql`
    select from gateway.api_keys
    where revoked_at is null and user_id <> ${userId}
      and (starts_with(order_prefix, ${orderPrefix}) or starts_with(${orderPrefix}, order_prefix))
    limit 1`;
  return other === undefined;
}

export async function listApiKeys(sql: Sql): Promise<ApiKey[]> {
  return await sql<ApiKey[]>`
    select ${sql(COLUMNS)}
    from gateway.api_keys order by created_at, prefix`;
}

/**
 * One page of all keys, newest first. `before`: the prefix of the last key of the previous page.
 */
export async function listApiKeyPage(
  sql: Sql,
  { before, limit }: { before: string | null; limit: number },
): Promise<ApiKey[]> {
  return await sql<ApiKey[]>`
    select ${sql(COLUMNS)}
    from gateway.api_keys
    ${
    before === null ? sql`` : sql`where (created_at, prefix) <
      (select created_at, prefix from gateway.api_keys where prefix = ${before})`
  }
    order by created_at desc, prefix desc limit ${limit}`;
}

export interface Revocation {
  /** The key after the statement; null: there is none with this prefix. */
  key: ApiKey | null;
  /** False: the key is the last valid staff key, or does not exist. True also if revoked before. */
  isRevoked: boolean;
}

/**
 * Revokes the key with this prefix unless it is the last valid staff key. Locks the valid staff
 * keys: of two requests that revoke the last two at the same time, the second one waits and is
 * refused. `acceptDevelopmentKeys`: whether development keys count as valid.
 */
export async function revokeUnlessLastStaff(
  sql: Sql,
  prefix: string,
  acceptDevelopmentKeys: boolean,
): Promise<Revocation> {
  const [revoked] = await sql<ApiKey[]>`
    with staff as (
      select prefix from gateway.api_keys
      where is_staff and revoked_at is null and (not is_development or ${acceptDevelopmentKeys})
      order by prefix for update
    )
    update gateway.api_keys set revoked_at = coalesce(revoked_at, now())
    where prefix = ${prefix} and (not is_staff or revoked_at is not null
      or (select count(*) from staff where prefix <> ${prefix}) > 0)
    returning ${sql(COLUMNS)}`;
  if (revoked) return { key: revoked, isRevoked: true };
  const [key] = await sql<ApiKey[]>`
    select ${sql(COLUMNS)} from gateway.api_keys where prefix = ${prefix}`;
  return { key: key ?? null, isRevoked: false };
}

export async function deleteApiKey(sql: Sql, prefix: string): Promise<void> {
  await sql`delete from gateway.api_keys where prefix = ${prefix}`;
}

/** Revokes the key with this prefix; null: there is none. */
export async function revokeApiKey(sql: Sql, prefix: string): Promise<ApiKey | null> {
  const [row] = await sql<ApiKey[]>`
    update gateway.api_keys set revoked_at = coalesce(revoked_at, now()) where prefix = ${prefix}
    returning ${sql(COLUMNS)}`;
  return row ?? null;
}
