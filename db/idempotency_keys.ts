/** The keys of requests that must not happen twice: who runs with one, and what came of it. */

import type { Sql } from "./database.ts";

/** A key by itself says nothing: it is one caller's, for one operation. */
export interface KeyId {
  user_id: string;
  scope: string;
  key: string;
}

export interface IdempotencyKey extends KeyId {
  body_hash: Uint8Array;
  /** What a request that was cut short goes on with. */
  payment_id: string | null;
  refund_id: string | null;
  /** Null while there is no answer to keep. */
  reply: unknown;
  /** Until then the request counts as running. */
  lease_until: Date;
  created_at: Date;
}

/** A new key on its way into a statement, as JSON. */
export interface ClaimedKey extends KeyId {
  /** Hexadecimal, as PostgreSQL reads it: `\x…`. */
  body_hash: string;
  payment_id: string;
  lease_until: Date;
  created_at: Date;
}

/** Takes the key unless it is known already (and not too old): then nothing is written, and false. */
export async function claimKey(sql: Sql, key: ClaimedKey, keysSince: Date): Promise<boolean> {
  const { user_id, scope, body_hash, payment_id, lease_until, created_at } = key;
  const rows = await sql`
    insert into gateway.idempotency_keys as known
      (user_id, scope, key, body_hash, payment_id, lease_until, created_at)
    values (${user_id}, ${scope}, ${key.key}, ${body_hash}::text::bytea, ${payment_id},
      ${lease_until}, ${created_at})
    on conflict (user_id, scope, key) do update set
      (body_hash, payment_id, refund_id, reply, lease_until, created_at) = row(
        excluded.body_hash, excluded.payment_id, null::uuid, null::json, excluded.lease_until,
        excluded.created_at)
    where known.created_at < ${keysSince}
    returning true`;
  return rows.length > 0;
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

/** Goes on with a request that runs no longer; of many who try at once, one may. */
export async function takeOverKey(
  sql: Sql,
  { user_id, scope, key, lease_until }: IdempotencyKey,
  until: Date,
): Promise<boolean> {
  const rows = await sql`
    update gateway.idempotency_keys set lease_until = ${until}
    where user_id = ${user_id} and scope = ${scope} and key = ${key}
      and reply is null and lease_until = ${lease_until}
    returning true`;
  return rows.length > 0;
}

/**
 * Ends a request without a change of its payment: with an answer to keep, or (null) with none. An
 * answer that was kept meanwhile, by whoever took the key over, stays.
 */
export async function endKey(
  sql: Sql,
  { user_id, scope, key }: KeyId,
  reply: object | null,
  now: Date,
): Promise<void> {
  await sql`
    update gateway.idempotency_keys
    set reply = ${reply && JSON.stringify(reply)}::text::json, lease_until = ${now}
    where user_id = ${user_id} and scope = ${scope} and key = ${key} and reply is null`;
}
