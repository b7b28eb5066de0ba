/** A request with a claimed idempotency key, and how the key is finished. */

import type { HeldKey } from "../../db/idempotency_keys.ts";
import type { ServiceError } from "../errors.ts";
import { finishKey } from "../idempotency/keys.ts";
import { type Reply, replyFor } from "../idempotency/reply.ts";
import { changeRecord } from "./change.ts";
import type { GatewayRecord, RecordDeps, RecordKind, StoredReply } from "./record.ts";

export interface KeyedRequest {
  /** Null: the request has no Idempotency-Key. */
  key: HeldKey | null;
  /** The refund that the request created, so that a retry with the key finds it. */
  refundId?: string;
  /** A job repeats the request, so a temporary failure does not end the payment or refund. */
  isRetriedByJob?: boolean;
  /** What the form of the request showed of the record; missing: the request has no form. */
  shown?: string;
}

/** Stores the response body with the key, in the statement that changes the record. */
export function storeReply<R extends GatewayRecord>(
  request: KeyedRequest,
  body: (after: R) => object,
  now: Date,
): StoredReply<R> {
  return updateKey(request, (after: R) => ({ body: body(after) }), now);
}

/** Stores the error with the key if it is final; otherwise releases the key for a retry. */
export function storeError(
  request: KeyedRequest,
  error: unknown,
  now: Date,
): StoredReply<GatewayRecord> {
  return updateKey(request, () => replyFor(error), now);
}

/**
 * Stores the ids of the record and of its refund, if any, with the key of a running request. A
 * change with this update fails if another request has taken over the key. The change is written
 * before the gateway is called, so a request that has lost its key makes no call.
 */
export function storeProgress(request: KeyedRequest): StoredReply<GatewayRecord> {
  return request.key && updateKey(request, () => null, request.key.lease_until);
}

function updateKey<R extends GatewayRecord>(
  { key, refundId }: KeyedRequest,
  reply: (after: R) => Reply | null,
  leaseUntil: Date,
): StoredReply<R> {
  if (!key) return null;
  const { user_id, scope, lease_until: held_until, holder: held_by } = key;
  return (after) => ({
    user_id,
    scope,
    key: key.key,
    held_until,
    held_by,
    resource_id: after.id,
    refund_id: refundId ?? null,
    reply: reply(after),
    lease_until: leaseUntil,
  });
}

/** Finishes a request whose record already has the requested state, without changing the record. */
export async function replyFromRecord<R extends GatewayRecord, View extends object>(
  deps: RecordDeps,
  kind: RecordKind<R, View>,
  { key }: KeyedRequest,
  record: R,
): Promise<View> {
  const body = kind.view(record);
  if (key) await finishKey(deps, key, { body });
  return body;
}

/**
 * Ends a request whose outcome at the gateway is unknown: schedules a check, releases the key for a
 * retry, and returns the problem for the caller to throw. `set` returns further members to change.
 */
export async function endWithUnknownOutcome<R extends GatewayRecord>(
  deps: RecordDeps,
  kind: RecordKind<R>,
  request: KeyedRequest,
  record: R,
  problem: ServiceError,
  set: (current: R) => Partial<R> = () => ({}),
): Promise<ServiceError> {
  const now = new Date(deps.clock());
  const job = kind.checkJob(record, now);
  await changeRecord(deps, kind, record, (current) => ({
    // If the job is lost, a scheduled task finds the record by `check_at`.
    set: { check_at: job.run_at, ...set(current) },
    jobs: [job],
    key: storeError(request, problem, now),
  }));
  return problem;
}
