/** The steps that every action on an existing record shares: begin, classify a failed call, end. */

import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import type { GatewayError } from "../gateway/errors.ts";
import * as keys from "../idempotency/keys.ts";
import { replyFor } from "../idempotency/reply.ts";
import { UNANSWERED_CHECK_MS } from "./check_times.ts";
import type { KeyedRequest } from "./keyed_request.ts";
import { findOwn } from "./read.ts";
import type { GatewayRecord, RecordDeps, RecordKind } from "./record.ts";

export type BegunAction<R> =
  | { kind: "new"; record: R; request: KeyedRequest }
  /** An earlier request with the same key did not finish; its call may have succeeded. */
  | { kind: "resume"; record: R; request: KeyedRequest }
  | { kind: "replay"; body: object };

/** Finds the record and claims the request's idempotency key for it. */
export async function beginAction<R extends GatewayRecord>(
  deps: RecordDeps,
  kind: RecordKind<R>,
  caller: Caller,
  id: string,
  requestKey: keys.RequestKey | null,
): Promise<BegunAction<R>> {
  const record = await findOwn(deps, kind, caller, id);
  if (!requestKey) return { kind: "new", record, request: { key: null } };
  const claim = await keys.claimOrResume(deps, caller, requestKey, id);
  if (claim.kind === "replay") return claim;
  const { key, earlier } = claim;
  const { isRetriedByJob, shown } = requestKey;
  const request = { key, refundId: earlier?.refundId ?? undefined, isRetriedByJob, shown };
  return { kind: earlier ? "resume" : "new", record, request };
}

/**
 * Throws if the record is no longer as the form of the request showed it. Called by the decision
 * about the write before the gateway call, so it sees what a form that was sent at the same moment
 * has written, such as a refund. An action that is only being sent changes nothing that a form
 * shows; if two such actions are sent at the same moment, the gateway decides.
 */
export function requireAsShown<R extends GatewayRecord>(
  { shownOf, view, problems }: RecordKind<R>,
  { shown }: KeyedRequest,
  current: R,
): void {
  if (shown !== undefined && shown !== shownOf(view(current))) throw problems.changed(current);
}

/**
 * The `check_at` to set before a call. If this process crashes during the call, a scheduled task
 * checks the record at that time. An earlier `check_at` is kept.
 */
export function checkTimeAfterCall({ check_at }: GatewayRecord, now: number): Date {
  const checkAt = new Date(now + UNANSWERED_CHECK_MS);
  return check_at !== null && check_at < checkAt ? check_at : checkAt;
}

export type ActionFailure =
  /** This call, or an earlier attempt of the same request, may have succeeded. */
  | "unknown"
  | "refused"
  /** The gateway refused because the object's state at the gateway does not allow the action. */
  | "wrong_state";

export function classifyActionFailure(
  error: GatewayError,
  { isResumed, isWrongState }: { isResumed: boolean; isWrongState: boolean },
): ActionFailure {
  const isCertain = error.outcome === "refused" && (!isResumed || isWrongState);
  if (!isCertain) return "unknown";
  return isWrongState ? "wrong_state" : "refused";
}

/**
 * Returns the error to throw for a failed action. If the failure changed the record, the key has
 * ended with that change. Otherwise, a final `ServiceError` is stored with the key;
 * any other `ServiceError` releases the key, so that a retry runs. An unexpected error also
 * releases it, and is replaced by one with the record's id.
 */
export async function endWithError<R extends GatewayRecord>(
  deps: RecordDeps,
  { problems }: RecordKind<R>,
  { key }: KeyedRequest,
  record: R,
  error: unknown,
): Promise<ServiceError> {
  try {
    if (key && error instanceof ServiceError) await keys.finishKey(deps, key, replyFor(error));
    else if (key) deps.keyReleases.add(key);
    return problems.withRecord(record, error);
  } catch (failure) {
    return problems.withRecord(record, failure);
  }
}
