/** A request with a claimed idempotency key, and how the key is finished. */

import type { ClaimedKey } from "../../db/records/idempotency_keys.ts";
import { ServiceError } from "../errors.ts";
import { finishKey } from "../idempotency/keys.ts";
import { replyFor } from "../idempotency/reply.ts";
import type { Service } from "../service.ts";
import { changeRecord } from "./change.ts";
import type { GatewayRecord, KeyChange, RecordKind } from "./record.ts";

export interface KeyedRequest {
  /** Null: the request has no Idempotency-Key. */
  key: ClaimedKey | null;
  /** The refund that the request created, so that a retry with the key finds it. */
  refundId?: string;
  /** A job repeats the request, so a temporary failure does not end the payment or refund. */
  isRetriedByJob?: boolean;
}

/**
 * The change that stores the response body with the key, and ends the request. It belongs to a
 * result of the gateway, which is stored even if another request has taken over the key.
 */
export function keyWithReply<R extends GatewayRecord>(
  request: KeyedRequest,
  body: (after: R) => object,
): KeyChange<R> | null {
  const change = keyChange(request, true, (after: R) => ({ body: body(after) }));
  return change && { ...change, isRequired: false };
}

/** Stores the error with the key if it is final; otherwise frees the key for a retry. */
export function keyWithError(
  request: KeyedRequest,
  error: unknown,
): KeyChange<GatewayRecord> | null {
  return keyChange(request, true, () => replyFor(error));
}

/**
 * Stores the ids of the record and of its refund, if any, with the key of a running request. A
 * change with this update fails if another request has taken over the key. The change is written
 * before the gateway is called, so a request that has lost its key makes no call.
 */
export function keyStillClaimed(request: KeyedRequest): KeyChange<GatewayRecord> | null {
  return keyChange(request, false, () => null);
}

function keyChange<R extends GatewayRecord>(
  { key, refundId }: KeyedRequest,
  isEnded: boolean,
  reply: KeyChange<R>["reply"],
): KeyChange<R> | null {
  return key && { claimed: key, isRequired: true, refundId: refundId ?? null, isEnded, reply };
}

/** Finishes a request whose record already has the requested state, without changing the record. */
export async function replyFromRecord<R extends GatewayRecord, View extends object>(
  service: Service,
  kind: RecordKind<R, View>,
  { key }: KeyedRequest,
  record: R,
): Promise<View> {
  const body = kind.view(record);
  if (key) await finishKey(service, key, { body });
  return body;
}

/**
 * Returns the error to throw for a request that creates a record. An unexpected error, such as a
 * failure of the database, releases the key and is replaced by one with the record's id.
 */
export function endCreation<R extends GatewayRecord>(
  { keyReleases }: Service,
  { problems }: RecordKind<R>,
  { key }: KeyedRequest,
  record: R,
  error: unknown,
): ServiceError {
  if (key && !(error instanceof ServiceError)) keyReleases.add(key);
  return problems.withRecord(record, error);
}

/**
 * Ends a request whose outcome at the gateway is unknown: schedules a check, releases the key for a
 * retry, and returns the problem for the caller to throw. `set` returns further members to change.
 */
export async function endWithUnknownOutcome<R extends GatewayRecord>(
  service: Service,
  kind: RecordKind<R>,
  request: KeyedRequest,
  record: R,
  problem: ServiceError,
  set: (current: R) => Partial<R> = () => ({}),
): Promise<ServiceError> {
  const now = new Date(service.clock());
  const job = kind.checkJob(record, now);
  await changeRecord(service, kind, record, (current) => ({
    // If the job is lost, a scheduled task finds the record by `check_at`.
    set: { check_at: job.run_at, ...set(current) },
    jobs: [job],
    key: keyWithError(request, problem),
  }));
  return problem;
}
