/** Idempotency keys: which request has claimed a key, and the reply that is stored with it. */

import type { Sql } from "../connection/database.ts";
import { END_LEASE, IS_LEASED, type Lease, leaseEnd } from "./lease.ts";
import { Statement } from "./statement.ts";

/**
 * Longer than any request takes, including its checks at the gateway. So, unlike the lease of a
 * job, it is never renewed, which would cost a statement. If a request still takes longer, or if
 * its instance loses its lock, another request may take over its key. The first one can then only
 * store what the gateway did for it. Both send the same idempotency key to the gateway, so that it
 * acts only once.
 */
const LEASE_MS = 60_000;

/** A key is unique per user and operation (method and path). */
export interface KeyId {
  user_id: string;
  scope: string;
  key: string;
}

export interface IdempotencyKey extends KeyId {
  body_hash: Uint8Array;
  /**
   * The record and the refund with which a retry continues if the first request was interrupted.
   */
  resource_id: string | null;
  refund_id: string | null;
  /** Null: no reply is stored yet. */
  reply: unknown;
  /** The lease of the request that runs (lease.ts). */
  lease_id: string | null;
  /** The seconds until the lease of a running request ends; null: no request runs. */
  leased_seconds: number | null;
  created_at: Date;
}

/** A claimed key. It is the request's as long as the stored `lease_id` is this one. */
export interface ClaimedKey extends KeyId {
  lease_id: string;
}

/** A new key, in the form in which it is sent to PostgreSQL as JSON. */
export interface NewKey extends KeyId, Lease {
  /** Hexadecimal, as PostgreSQL reads bytea: `\x…`. */
  body_hash: string;
  resource_id: string;
  created_at: Date;
}

interface ClaimOptions {
  /** Keys created before this have expired and can be claimed again. */
  keysSince: Date;
  /**
   * Ids of records that new records replace. Their keys can be claimed again if they have no reply.
   */
  replaced: string[];
}

/** The three parts of a key as one string. */
export function nameOf({ user_id, scope, key }: KeyId): string {
  return JSON.stringify([user_id, scope, key]);
}

const COLUMNS = "user_id, scope, key, body_hash, resource_id, lease_id, holder, created_at";

/** Inserts keys and returns the resource ids of those that were not in use. */
export function claimKeysSql(
  statement: Statement,
  keys: NewKey[],
  { keysSince, replaced }: ClaimOptions,
): string {
  return `
      insert into gateway.idempotency_keys as known (${COLUMNS}, lease_until)
      select ${COLUMNS}, ${leaseEnd(LEASE_MS)} from ${statement.rows("idempotency_keys", keys)}
      order by user_id, scope, key
      on conflict (user_id, scope, key) do update set
        (body_hash, resource_id, refund_id, reply, lease_id, lease_until, holder, created_at) = row(
          excluded.body_hash, excluded.resource_id, null::uuid, null::json, excluded.lease_id,
          excluded.lease_until, excluded.holder, excluded.created_at)
      where known.created_at < ${statement.value(keysSince)}
        or (known.resource_id = any(${statement.ids(replaced)}) and known.reply is null)
      returning resource_id`;
}

/** Returns false, and writes nothing, if the key is in use and has not expired. */
export async function claimKey(sql: Sql, key: NewKey, keysSince: Date): Promise<boolean> {
  const statement = new Statement();
  const text = claimKeysSql(statement, [key], { keysSince, replaced: [] });
  return (await statement.run(sql, text)).length > 0;
}

export async function findKey(
  sql: Sql,
  { user_id, scope, key }: KeyId,
): Promise<IdempotencyKey | null> {
  const [row] = await sql<[IdempotencyKey?]>`
    select *, case when ${sql.unsafe(IS_LEASED)}
        then ceil(extract(epoch from lease_until - now()))::integer end as leased_seconds
    from gateway.idempotency_keys
    where user_id = ${user_id} and scope = ${scope} and key = ${key}`;
  return row ?? null;
}

/**
 * Takes over the key of a request that no longer runs; of several concurrent calls, one succeeds.
 * Returns what the interrupted request has stored; null: another call has taken the key over, or a
 * reply is stored.
 */
export async function takeOverKey(
  sql: Sql,
  { user_id, scope, key, lease_id }: IdempotencyKey,
  lease: Lease,
): Promise<Pick<IdempotencyKey, "resource_id" | "refund_id"> | null> {
  const [stored] = await sql<[Pick<IdempotencyKey, "resource_id" | "refund_id">?]>`
    update gateway.idempotency_keys set lease_id = ${lease.lease_id},
      lease_until = ${sql.unsafe(leaseEnd(LEASE_MS))}, holder = ${lease.holder}
    where user_id = ${user_id} and scope = ${scope} and key = ${key}
      and reply is null and lease_id is not distinct from ${lease_id}
    returning resource_id, refund_id`;
  return stored ?? null;
}

/**
 * Releases the key and stores `reply`; null: there is no reply. Does nothing and returns false if
 * the key is already released, or another request has taken it over.
 */
export async function endKey(
  sql: Sql,
  { user_id, scope, key, lease_id }: ClaimedKey,
  reply: object | null,
): Promise<boolean> {
  const { count } = await sql`
    update gateway.idempotency_keys
    set reply = ${reply && JSON.stringify(reply)}::text::json, ${sql.unsafe(END_LEASE)}
    where user_id = ${user_id} and scope = ${scope} and key = ${key}
      and lease_id = ${lease_id}`;
  return count > 0;
}
