/** One request a key: the first runs, those beside it wait, those after it hear the same answer. */

import { Buffer } from "node:buffer";
import type { Database } from "../../db/database.ts";
import {
  type ClaimedKey,
  claimKey,
  endKey,
  findKey,
  type HeldKey,
  type IdempotencyKey,
  type KeyId,
  takeOverKey,
} from "../../db/idempotency_keys.ts";
import type { Caller } from "../auth/caller.ts";
import type { Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import type { KeyedAttempt } from "./attempt.ts";
import { replay, type Reply } from "./reply.ts";

/**
 * Longer than requests take, looks at the gateway included. One that is slower than that finds its
 * key in other hands and leaves it alone; what the two do at the gateway is one thing there.
 */
const LEASE_MS = 60_000;

const KEPT_MS = 24 * 60 * 60 * 1_000;

export interface KeyDeps {
  database: Database;
  clock: Clock;
}

/** A request that runs with a key. */
export interface Holding {
  /** Until its lease is over nobody else does. */
  key: HeldKey;
  /** What an earlier request with the key left behind; null: this is the first. */
  earlier: { resourceId: string | null; refundId: string | null } | null;
}

/** It was answered before, with this. */
export interface Answered {
  body: object;
}

export function keyIdOf({ scope, key }: KeyedAttempt, { userId }: Caller): KeyId {
  return { user_id: userId, scope, key };
}

export function claimFor(
  attempt: KeyedAttempt,
  caller: Caller,
  resourceId: string,
  now: Date,
): ClaimedKey {
  return {
    ...keyIdOf(attempt, caller),
    body_hash: `\\x${Buffer.from(attempt.bodyHash).toString("hex")}`,
    resource_id: resourceId,
    lease_until: leaseEnd(now),
    created_at: now,
  };
}

/** Keys that were made before this are forgotten. */
export function keysSince(now: Date): Date {
  return new Date(now.getTime() - KEPT_MS);
}

function leaseEnd(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS);
}

/** Takes the key for a request about this record. */
export async function beginKeyed(
  deps: KeyDeps,
  caller: Caller,
  attempt: KeyedAttempt,
  resourceId: string,
): Promise<Holding | Answered> {
  const now = new Date(deps.clock());
  const claim = claimFor(attempt, caller, resourceId, now);
  const isNew = await deps.database.query(
    (sql) => claimKey(sql, claim, keysSince(now)),
    "claim key",
  );
  if (isNew) return { key: claim, earlier: null };
  return await meetKey(deps, caller, attempt);
}

/** Looks at a key that is known already, and takes it over where nobody runs with it any more. */
export async function meetKey(
  deps: KeyDeps,
  caller: Caller,
  attempt: KeyedAttempt,
): Promise<Holding | Answered> {
  const now = new Date(deps.clock());
  const id = keyIdOf(attempt, caller);
  const known = await deps.database.query((sql) => findKey(sql, id), "find key");
  // Pruned in this very moment: as good as running, and new the next time.
  if (!known) throw inProgress(now, now);
  checkSame(known, attempt);
  if (known.reply !== null) return { body: replay(known.reply) };
  if (isRunning(known, now)) throw inProgress(known.lease_until, now);
  const leaseUntil = leaseEnd(now);
  const left = await deps.database.query(
    (sql) => takeOverKey(sql, known, leaseUntil),
    "take key over",
  );
  if (!left) throw inProgress(leaseUntil, now);
  return {
    key: { ...id, lease_until: leaseUntil },
    earlier: { resourceId: left.resource_id, refundId: left.refund_id },
  };
}

/** A key stands for one request: with another it is refused. */
export function checkSame(known: IdempotencyKey, attempt: KeyedAttempt): void {
  if (isSame(known, attempt)) return;
  throw new ServiceError("idempotency_key_reused", {
    detail: "This Idempotency-Key was used for another request; take a new one.",
  });
}

function isSame({ body_hash }: IdempotencyKey, { bodyHash }: KeyedAttempt): boolean {
  return Buffer.compare(body_hash, bodyHash) === 0;
}

/**
 * A lease that ends so late was given by a clock that went wrong. Clocks of two instances never agree
 * to the millisecond, so one that is merely ahead of ours counts.
 */
const LATEST_LEASE_MS = LEASE_MS + 10 * 60_000;

function isRunning({ lease_until }: HeldKey, now: Date): boolean {
  const left = lease_until.getTime() - now.getTime();
  return left > 0 && left <= LATEST_LEASE_MS;
}

/** Whether the key was used before; nothing is claimed. */
export async function isKnown(
  deps: KeyDeps,
  caller: Caller,
  attempt: KeyedAttempt,
): Promise<boolean> {
  return await findKnown(deps, caller, attempt) !== null;
}

/** The key, where it was used before and still counts, be it for this request or another. */
export async function findKnown(
  { database, clock }: KeyDeps,
  caller: Caller,
  attempt: KeyedAttempt,
): Promise<IdempotencyKey | null> {
  const id = keyIdOf(attempt, caller);
  const known = await database.query((sql) => findKey(sql, id), "find key");
  return known && known.created_at >= keysSince(new Date(clock())) ? known : null;
}

/** What this very request left with its key, be it ever so old; null: nothing, or nothing any more. */
export async function findLeft(
  { database }: KeyDeps,
  caller: Caller,
  attempt: KeyedAttempt,
): Promise<IdempotencyKey | null> {
  const id = keyIdOf(attempt, caller);
  const left = await database.query((sql) => findKey(sql, id), "find key");
  return left && isSame(left, attempt) ? left : null;
}

/** Ends a request that changed no record; null: there is no answer to keep, and the key is free. */
export async function endKeyed(
  { database, clock }: KeyDeps,
  key: HeldKey,
  reply: Reply | null,
): Promise<void> {
  const now = new Date(clock());
  await database.query((sql) => endKey(sql, key, reply, now), "end key");
}

/** Short, for most requests are; a lease that still runs for long belongs to one that is gone. */
const MAX_RETRY_AFTER_SECONDS = 5;

export function inProgress(until: Date, now: Date): ServiceError {
  const seconds = Math.ceil((until.getTime() - now.getTime()) / 1_000);
  return new ServiceError("idempotency_in_progress", {
    detail: "The first request with this Idempotency-Key is still running.",
    headers: { "Retry-After": String(Math.min(Math.max(seconds, 1), MAX_RETRY_AFTER_SECONDS)) },
  });
}
