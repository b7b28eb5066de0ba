/**
 * Idempotency keys: the first request with a key runs, concurrent requests with the key are
 * rejected until it ends, and later requests with the key get its stored reply.
 */

import { Buffer } from "node:buffer";
import { DatabaseUnavailable } from "../../db/connection/database.ts";
import {
  type ClaimedKey,
  claimKey,
  endKey,
  findKey,
  type IdempotencyKey,
  type KeyId,
  type NewKey,
  takeOverKey,
} from "../../db/records/idempotency_keys.ts";
import type { ThisInstance } from "../../db/connection/instance_lock.ts";
import { newLease } from "../../db/records/lease.ts";
import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import type { Service } from "../service.ts";
import { replay, type Reply } from "./reply.ts";

/** The `Idempotency-Key` of a request, and the data that identifies the request. */
export interface RequestKey {
  key: string;
  /** Method and path, so that the key of a charge has no effect on a refund. */
  scope: string;
  /** Hash of the request body. Reusing the key with another body is an error. */
  bodyHash: Uint8Array;
  /** A job retries the request after a temporary failure, so such a failure is not final. */
  isRetriedByJob?: boolean;
}

export interface RequestResult<T> {
  body: T;
  /** True for the stored reply of an earlier request. */
  isReplayed: boolean;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

export type KeyClaim =
  | {
    type: "claimed";
    key: ClaimedKey;
    /** What an earlier request with the key created; null: this is the first request. */
    earlier: { resourceId: string | null; refundId: string | null } | null;
  }
  | { type: "replay"; body: object };

export function keyIdOf({ scope, key }: RequestKey, { userId }: Caller): KeyId {
  return { user_id: userId, scope, key };
}

export function newKeyClaim(
  requestKey: RequestKey,
  caller: Caller,
  resourceId: string,
  { now, thisInstance }: { now: Date; thisInstance: ThisInstance },
): NewKey {
  return {
    ...keyIdOf(requestKey, caller),
    body_hash: `\\x${Buffer.from(requestKey.bodyHash).toString("hex")}`,
    resource_id: resourceId,
    ...newLease(thisInstance),
    created_at: now,
  };
}

/**
 * How long a key is valid: the setting KEEP_KEYS_DAYS, and at least a day. An expired key can be
 * used again at once, although its row is deleted later.
 */
export function keyLifetimeMs({ keep }: Pick<Service, "keep">): number {
  return Math.max(keep.keys, 1) * DAY_MS;
}

/** Keys created before this time have expired. */
export function oldestValidKey(service: Pick<Service, "keep">, now: Date): Date {
  // Not before 1970, however large the setting is.
  return new Date(Math.max(0, now.getTime() - keyLifetimeMs(service)));
}

/**
 * Whether a request with a new key may repeat one that the database has lost: since its restore
 * from a backup, keys of the lost time are still valid. Such a request asks the gateway first.
 */
export function mayRepeatLostRequest(
  service: Pick<Service, "restoredAt" | "clock" | "keep">,
): boolean {
  const { restoredAt, clock } = service;
  return restoredAt !== null && clock() < restoredAt.getTime() + keyLifetimeMs(service);
}

/** Claims the key for a request that changes an existing record, or calls `resumeOrReplay`. */
export async function claimOrResume(
  service: Service,
  caller: Caller,
  requestKey: RequestKey,
  resourceId: string,
): Promise<KeyClaim> {
  const now = new Date(service.clock());
  const { thisInstance } = service;
  const claim = newKeyClaim(requestKey, caller, resourceId, { now, thisInstance });
  const isNew = await releaseAfterError(service, claim, () =>
    service.database.query(
      (sql) => claimKey(sql, claim, oldestValidKey(service, now)),
      "claim key",
    ));
  if (isNew) return { type: "claimed", key: claim, earlier: null };
  return await resumeOrReplay(service, caller, requestKey);
}

/**
 * Returns the reply of a finished request, or takes over the key of a request that no longer runs.
 * Throws if the request with the key is still in progress, or had another body.
 */
export async function resumeOrReplay(
  service: Service,
  caller: Caller,
  requestKey: RequestKey,
  isRepeated = false,
): Promise<KeyClaim> {
  const id = keyIdOf(requestKey, caller);
  const known = await service.database.query((sql) => findKey(sql, id), "find key");
  // The key was pruned between the claim and this read. A retry finds it unused.
  if (!known) throw requestInProgress(1);
  requireSameRequest(known, requestKey);
  if (known.reply !== null) return { type: "replay", body: replay(known.reply) };
  const { lease_id, leased_seconds } = known;
  if (leased_seconds !== null && !service.keyReleases.has(lease_id)) {
    throw requestInProgress(leased_seconds);
  }
  const lease = newLease(service.thisInstance);
  const earlier = await releaseAfterError(
    service,
    { ...id, ...lease },
    () =>
      service.database.query(
        (sql) => takeOverKey(sql, known, lease),
        "take key over",
      ),
  );
  if (!earlier) {
    // Another request has taken the key over, or the instance that had it has just released it.
    if (!isRepeated) return await resumeOrReplay(service, caller, requestKey, true);
    throw requestInProgress();
  }
  service.keyReleases.remove(lease_id);
  return {
    type: "claimed",
    key: { ...id, ...lease },
    earlier: { resourceId: earlier.resource_id, refundId: earlier.refund_id },
  };
}

export function requireSameRequest(known: IdempotencyKey, requestKey: RequestKey): void {
  if (!isSameRequest(known, requestKey)) throw keyReused();
}

export function keyReused(): ServiceError {
  return new ServiceError("idempotency_key_reused", {
    detail: "This Idempotency-Key was used with a different request body. Send a new key.",
  });
}

function isSameRequest({ body_hash }: IdempotencyKey, { bodyHash }: RequestKey): boolean {
  return Buffer.compare(body_hash, bodyHash) === 0;
}

/** Whether a request with the key is running, or has ended with a stored reply. Claims nothing. */
export async function isRunningOrDone(
  service: Service,
  caller: Caller,
  requestKey: RequestKey,
): Promise<boolean> {
  const known = await findUsedKey(service, caller, requestKey);
  return known !== null && (known.reply !== null || known.leased_seconds !== null);
}

/** Whether an earlier request used the key. Claims nothing. */
export async function isKeyUsed(
  service: Service,
  caller: Caller,
  requestKey: RequestKey,
): Promise<boolean> {
  return await findUsedKey(service, caller, requestKey) !== null;
}

/** The key if an earlier request used it, with any body, and it has not expired. */
export async function findUsedKey(
  service: Pick<Service, "database" | "clock" | "keep">,
  caller: Caller,
  requestKey: RequestKey,
): Promise<IdempotencyKey | null> {
  const id = keyIdOf(requestKey, caller);
  const known = await service.database.query((sql) => findKey(sql, id), "find key");
  const since = oldestValidKey(service, new Date(service.clock()));
  return known && known.created_at >= since ? known : null;
}

/** The key if the same request used it before, even if the key has expired since. */
export async function findSameRequest(
  { database }: Service,
  caller: Caller,
  requestKey: RequestKey,
): Promise<IdempotencyKey | null> {
  const id = keyIdOf(requestKey, caller);
  const known = await database.query((sql) => findKey(sql, id), "find key");
  return known && isSameRequest(known, requestKey) ? known : null;
}

/**
 * Ends a request in a statement of its own. Without a reply the key is free for a retry. Does
 * nothing if a change has already ended the key, or another request has taken it over.
 */
export async function finishKey(
  service: Service,
  key: ClaimedKey,
  reply: Reply | null,
): Promise<void> {
  await releaseAfterError(
    service,
    key,
    () => service.database.query((sql) => endKey(sql, key, reply), "end key"),
  );
}

/**
 * Runs a statement of a request that has claimed the key, or claims it with this statement. If the
 * database fails, the request ends, and its key is released when the database responds.
 */
export async function releaseAfterError<T>(
  { keyReleases }: Pick<Service, "keyReleases">,
  key: ClaimedKey | null,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (key && error instanceof DatabaseUnavailable) keyReleases.add(key);
    throw error;
  }
}

/** Most requests end sooner than their lease, so callers should retry early. */
const MAX_RETRY_AFTER_SECONDS = 5;

export function requestInProgress(seconds = MAX_RETRY_AFTER_SECONDS): ServiceError {
  return new ServiceError("idempotency_in_progress", {
    detail:
      "The first request with this Idempotency-Key is still in progress. Retry after the number " +
      "of seconds in the Retry-After header.",
    headers: { "Retry-After": String(Math.min(seconds, MAX_RETRY_AFTER_SECONDS)) },
  });
}
