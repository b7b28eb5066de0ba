/** The keys of requests that must not happen twice: who runs with one, and what came of it. */

import type { Sql } from "./database.ts";
import { Statement } from "./statement.ts";

/** A key by itself says nothing: it is one caller's, for one operation. */
export interface KeyId {
  user_id: string;
  scope: string;
  key: string;
}

export interface IdempotencyKey extends KeyId {
  body_hash: Uint8Array;
  /** What a request that was cut short goes on with. */
  resource_id: string | null;
  refund_id: string | null;
  /** Null while there is no answer to keep. */
  reply: unknown;
  /** Until then the request counts as running. */
  lease_until: Date;
  created_at: Date;
}

/** A key as its holder knows it; when somebody else took it over, its lease is another. */
export interface HeldKey extends KeyId {
  lease_until: Date;
}

/** A new key on its way into a statement, as JSON. */
export interface ClaimedKey extends HeldKey {
  /** Hexadecimal, as PostgreSQL reads it: `\\x…`. */
  body_hash: string;
  resource_id: string;
  created_at: Date;
}

export interface ClaimOptions {
  /** A key that was made before this counts no longer. */
  keysSince: Date;
  /** Nor does one that was cut short with one of these records. */
  replaced: string[];
}

/** One word for one key. */
export function nameOf({ user_id, scope, key }: KeyId): string {
  return JSON.stringify([user_id, scope, key]);
}

const COLUMNS = "user_id, scope, key, body_hash, resource_id, lease_until, created_at";

/** Takes keys, and returns the records of those that were not known already. */
export function claimingKeys(
  statement: Statement,
  keys: ClaimedKey[],
  { keysSince, replaced }: ClaimOptions,
): string {
  return `
      insert into gateway.idempotency_keys as known (${COLUMNS})
      select ${COLUMNS} from ${statement.rows("idempotency_keys", keys)}
      order by user_id, scope, key
      on conflict (user_id, scope, key) do update set
        (body_hash, resource_id, refund_id, reply, lease_until, created_at) = row(
          excluded.body_hash, excluded.resource_id, null::uuid, null::json, excluded.lease_until,
          excluded.created_at)
      where known.created_at < ${statement.value(keysSince)}
        or known.resource_id = any(${statement.ids(replaced)})
      returning resource_id`;
}

/** Takes the key unless it is known already (and not too old): then nothing is written, and false. */
export async function claimKey(sql: Sql, key: ClaimedKey, keysSince: Date): Promise<boolean> {
  const statement = new Statement();
  const text = claimingKeys(statement, [key], { keysSince, replaced: [] });
  return (await statement.run(sql, text)).length > 0;
}

export async function findKey(
  sql: Sql,
  { user_id, scope, key }: KeyId,
): Promise<IdempotencyKey | null> {
  const [row] = await sql<[IdempotencyKey?]>`
    select * from gateway.idempotency_keys
    where user_id = ${user_id} and scope = ${scope} and key = ${key}`;
  return row ?? null;
}

/**
 * Goes on with a request that runs no longer; of many who try at once, one may. It is told what the
 * key's last holder left behind, up to this moment.
 */
export async function takeOverKey(
  sql: Sql,
  { user_id, scope, key, lease_until }: HeldKey,
  until: Date,
): Promise<Pick<IdempotencyKey, "resource_id" | "refund_id"> | null> {
  const [left] = await sql<[Pick<IdempotencyKey, "resource_id" | "refund_id">?]>`
    update gateway.idempotency_keys set lease_until = ${until}
    where user_id = ${user_id} and scope = ${scope} and key = ${key}
      and reply is null and lease_until = ${lease_until}
    returning resource_id, refund_id`;
  return left ?? null;
}

/**
 * Ends a request without a change of its record: with an answer to keep, or (null) with none. Of a
 * key that somebody else holds by now nothing changes.
 */
export async function endKey(
  sql: Sql,
  { user_id, scope, key, lease_until }: HeldKey,
  reply: object | null,
  now: Date,
): Promise<void> {
  await sql`
    update gateway.idempotency_keys
    set reply = ${reply && JSON.stringify(reply)}::text::json, lease_until = ${now}
    where user_id = ${user_id} and scope = ${scope} and key = ${key}
      and lease_until = ${lease_until} and reply is null`;
}
