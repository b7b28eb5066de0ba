/**
 * `act`: one action on an existing record, such as a cancellation or a void, from the request to
 * the reply. Refunds have a sequence of their own and share its first and its last step.
 */

import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import { GatewayError, type GatewayOutcome } from "../gateway/errors.ts";
import type { GatewayResponse } from "../gateway/responses.ts";
import * as keys from "../idempotency/keys.ts";
import { replyFor } from "../idempotency/reply.ts";
import type { Service } from "../service.ts";
import { changeRecord } from "./change.ts";
import { UNANSWERED_CHECK_MS } from "./check_times.ts";
import {
  endWithUnknownOutcome,
  type KeyedRequest,
  keyStillClaimed,
  keyWithReply,
  replyFromRecord,
} from "./keyed_request.ts";
import { gatewayDownProblem } from "./problems.ts";
import { findOwn } from "./read.ts";
import { actAs, type GatewayRecord, type KeyChange, type RecordKind } from "./record.ts";

/** What differs between the actions. */
export interface Action<R extends GatewayRecord, Answer> {
  /** Throws if the record's state does not allow the action. */
  requireAllowed(record: R): void;
  /** Whether the record has the state that the action leads to. */
  isDone(record: R): boolean;
  /** Checks the record at the gateway. If that fails, the error has the action's `outcome`. */
  check(record: R, outcome: GatewayOutcome): Promise<R>;
  /** Makes sure that the gateway can be called for this record. By default it can. */
  prepare?(record: R, isResumed: boolean): Promise<R>;
  /** What is stored before the call, in addition to the time of the next check. */
  intent?: Partial<R>;
  /** Whether an earlier request, which stored this record, may have done the same action. */
  mayHaveBeenSent?(before: R): boolean;
  call(record: R): Promise<GatewayResponse<Answer>>;
  /** Whether the gateway refused because the object's state there does not allow the action. */
  isWrongState(error: GatewayError): boolean;
  /** Stores that the gateway refused, and returns the record. By default nothing is stored. */
  storeRefusal?(record: R, before: R, key: KeyChange<R> | null): Promise<R>;
  /** The error to throw if the answer is a final denial; null: it is none. */
  denial?(
    record: R,
    answer: GatewayResponse<Answer>,
    key: KeyChange<R> | null,
  ): Promise<ServiceError | null>;
  /** Whether the answer says that the action was done. */
  confirms(answer: GatewayResponse<Answer>, record: R): boolean;
  /** Stores the result, together with the reply for the key. */
  apply(record: R, answer: Answer, key: KeyChange<R> | null): Promise<R>;
  /** Members to change if the outcome is unknown, in addition to the time of the next check. */
  whenUnknown?(current: R): Partial<R>;
}

export interface ActionRequest {
  caller: Caller;
  id: string;
  requestKey: keys.RequestKey | null;
  /** For the action of a form: what the form showed of the record (`RecordKind.shownOf`). */
  shown?: string;
}

/**
 * Claims the key, checks the state, calls the gateway, classifies its response, applies it,
 * replies. `actionWith` gets the service for this caller.
 */
export async function act<
  R extends GatewayRecord,
  View extends object,
  Answer,
>(
  service: Service,
  kind: RecordKind<R, View>,
  actionRequest: ActionRequest,
  actionWith: (service: Service) => Action<R, Answer>,
): Promise<keys.RequestResult<View>> {
  const asCaller = actAs(service, actionRequest.caller);
  const action = actionWith(asCaller);
  const begun = await beginAction(asCaller, kind, actionRequest);
  if (begun.type === "replay") return { body: begun.body as View, isReplayed: true };
  const { request } = begun;
  const isResumed = begun.type === "resume";
  const wasDone = (current: R) => isResumed && action.isDone(current);
  try {
    let record = isResumed ? await action.check(begun.record, "unknown") : begun.record;
    let before = record;
    if (!wasDone(record)) {
      action.requireAllowed(record);
      if (asCaller.gateway.breakerState("write") === "open") {
        throw gatewayDownProblem(isResumed ? "unknown" : "refused");
      }
      if (action.prepare) record = await action.prepare(record, isResumed);
      record = await changeRecord(asCaller, kind, record, (current) => {
        if (wasDone(current)) return null;
        requireAsShown(kind, actionRequest, current);
        action.requireAllowed(current);
        before = current;
        const check_at = checkTimeAfterCall(current, asCaller.clock());
        const set = { check_at, ...action.intent } as Partial<R>;
        return { set, key: keyStillClaimed(request) };
      });
    }
    const wasSentBefore = isResumed || (action.mayHaveBeenSent?.(before) ?? false);
    const body = wasDone(record)
      ? await replyFromRecord(asCaller, kind, request, record)
      : await send(asCaller, kind, action, request, record, { before, wasSentBefore });
    return { body, isReplayed: false };
  } catch (error) {
    throw await endWithError(asCaller, kind, request, begun.record, error);
  }
}

interface Earlier<R> {
  /** The record before this request changed it. */
  before: R;
  /** An earlier call may have done the same action. */
  wasSentBefore: boolean;
}

/** Calls the gateway and applies its answer. */
async function send<R extends GatewayRecord, View extends object, Answer>(
  service: Service,
  kind: RecordKind<R, View>,
  action: Action<R, Answer>,
  request: KeyedRequest,
  record: R,
  earlier: Earlier<R>,
): Promise<View> {
  let answer: GatewayResponse<Answer>;
  try {
    answer = await action.call(record);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return await resolveFailure(service, kind, action, request, record, earlier, error);
  }
  const denial = await action.denial?.(record, answer, keyStillClaimed(request));
  if (denial) throw denial;
  if (!action.confirms(answer, record)) {
    const problem = kind.problems.unclearAnswer(record, answer.statusCode);
    throw await endWithUnknownOutcome(service, kind, request, record, problem, action.whenUnknown);
  }
  const key = keyWithReply(request, kind.view);
  return kind.view(await action.apply(record, answer.body, key));
}

/** Returns the reply if the action was done by an earlier attempt; otherwise throws. */
async function resolveFailure<R extends GatewayRecord, View extends object, Answer>(
  service: Service,
  kind: RecordKind<R, View>,
  action: Action<R, Answer>,
  request: KeyedRequest,
  record: R,
  { before, wasSentBefore }: Earlier<R>,
  error: GatewayError,
): Promise<View> {
  const { problems } = kind;
  const isWrongState = action.isWrongState(error);
  const isCertain = error.outcome === "refused" && (!wasSentBefore || isWrongState);
  if (!isCertain) {
    const problem = problems.gatewayProblem(error, record, "unknown");
    throw await endWithUnknownOutcome(service, kind, request, record, problem, action.whenUnknown);
  }
  const refused = await action.storeRefusal?.(record, before, keyStillClaimed(request)) ?? record;
  if (!isWrongState) throw problems.gatewayProblem(error, refused);
  const current = await action.check(refused, wasSentBefore ? "unknown" : "refused");
  if (wasSentBefore && action.isDone(current)) {
    return await replyFromRecord(service, kind, request, current);
  }
  throw problems.invalidState(current, `The gateway rejected the request: ${error.message}`);
}

export type BegunAction<R> =
  | { type: "new"; record: R; request: KeyedRequest }
  /**
   * An earlier request with the same key did not finish, or the database may have lost it; its call
   * may have succeeded.
   */
  | { type: "resume"; record: R; request: KeyedRequest }
  | { type: "replay"; body: object };

/** Finds the record and claims the request's idempotency key for it. */
export async function beginAction<R extends GatewayRecord>(
  service: Service,
  kind: RecordKind<R>,
  { caller, id, requestKey }: ActionRequest,
): Promise<BegunAction<R>> {
  const record = await findOwn(service, kind, caller, id);
  if (!requestKey) return { type: "new", record, request: { key: null } };
  const claim = await keys.claimOrResume(service, caller, requestKey, id);
  if (claim.type === "replay") return claim;
  const { key, earlier } = claim;
  const { isRetriedByJob } = requestKey;
  const request = { key, refundId: earlier?.refundId ?? undefined, isRetriedByJob };
  const isResumed = earlier !== null || keys.mayRepeatLostRequest(service);
  return { type: isResumed ? "resume" : "new", record, request };
}

/**
 * Throws if the record is no longer as the form of the request showed it. Called by the decision
 * about the write before the gateway call, so it sees what a form that was sent at the same moment
 * has written, such as a refund. An action that is only being sent changes nothing that a form
 * shows; if two such actions are sent at the same moment, the gateway decides.
 */
export function requireAsShown<R extends GatewayRecord>(
  { shownOf, view, problems }: RecordKind<R>,
  { shown }: Pick<ActionRequest, "shown">,
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

/**
 * Returns the error to throw for a failed action. If the failure changed the record, the key has
 * ended with that change. Otherwise, a final `ServiceError` is stored with the key;
 * any other `ServiceError` releases the key, so that a retry runs. An unexpected error also
 * releases it, and is replaced by one with the record's id.
 */
export async function endWithError<R extends GatewayRecord>(
  service: Service,
  { problems }: RecordKind<R>,
  { key }: KeyedRequest,
  record: R,
  error: unknown,
): Promise<ServiceError> {
  try {
    if (key && error instanceof ServiceError) await keys.finishKey(service, key, replyFor(error));
    else if (key) service.keyReleases.add(key);
    return problems.withRecord(record, error);
  } catch (failure) {
    return problems.withRecord(record, failure);
  }
}
