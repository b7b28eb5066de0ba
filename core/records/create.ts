/**
 * `create`: creates an invoice or a subscription, from the request to the reply. Charges have a
 * sequence of their own and share its first step: claim the idempotency key and insert the record.
 */

import { batched } from "../../db/records/batched.ts";
import type { ClaimedKey } from "../../db/records/idempotency_keys.ts";
import { actorOf, type Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import type { Permit } from "../gateway/circuit_breaker.ts";
import { GatewayError } from "../gateway/errors.ts";
import type { GatewayResponse } from "../gateway/responses.ts";
import * as keys from "../idempotency/keys.ts";
import { replyFor } from "../idempotency/reply.ts";
import type { Service } from "../service.ts";
import { UNANSWERED_CHECK_MS } from "./check_times.ts";
import {
  endCreation,
  endWithUnknownOutcome,
  type KeyedRequest,
  keyWithError,
  keyWithReply,
  replyFromRecord,
} from "./keyed_request.ts";
import type { GeneratedOrders } from "./generated_orders.ts";
import { gatewayDownProblem } from "./problems.ts";
import {
  type CreatedKind,
  type GatewayRecord,
  type KeyChange,
  requireInvariants,
  violationOf,
} from "./record.ts";

/** The record of an earlier request with the same key. */
export interface EarlierRecord<R> {
  id: string;
  /** Null: the record was never inserted, because its order id was already in use. */
  record: R | null;
  /** The key of both requests, which the current request has claimed. */
  key: ClaimedKey;
}

export interface NewRecord<R> {
  type: "new";
  record: R;
  request: KeyedRequest;
  /**
   * The permit for the call that creates the object; null: the gateway is up, and the call needs no
   * permit. The caller must use or dispose it.
   */
  probe: Permit | null;
}

export type Insertion<R, View> =
  | NewRecord<R>
  | { type: "replay"; body: View }
  | { type: "resume"; earlier: EarlierRecord<R> | null; request: KeyedRequest }
  /** The generated order id is in use. The request has claimed its key, and needs another one. */
  | { type: "order_in_use"; earlier: EarlierRecord<R> };

/** The new record, or that of an earlier request with the same key, which is continued. */
export type RecordClaim<R, View> =
  | NewRecord<R>
  | { type: "replay"; body: View }
  | { type: "resume"; record: R; request: KeyedRequest };

export interface RecordCreation<R> {
  caller: Caller;
  requestKey: keys.RequestKey | null;
  record: R;
  /** A failed record of an earlier request with the same key, which the new record replaces. */
  replaces: EarlierRecord<R> | null;
  /** Whether the order id follows from the key; if it is in use, the caller did not choose it. */
  isOrderGenerated?: boolean;
}

/** What differs between an invoice and a subscription. */
export interface Creation<R extends SentRecord, Answer> {
  /** For how long the gateway remembers the idempotency key of a creation. */
  resendWindowMs: number;
  /** Whether the check of a record that the gateway has not answered sends its creation again. */
  isResentByTask: boolean;
  call(record: R, options: CreationOptions): Promise<GatewayResponse<Answer>>;
  /** Whether the answer is about this record. */
  answers(record: R, answer: Answer): boolean;
  /** The error for a refused creation; by default, the gateway's error. */
  refusal?(record: R, error: GatewayError): ServiceError | null;
  applyRefusal(record: R, key: KeyChange<R> | null): Promise<R>;
  apply(record: R, answer: Answer, key: KeyChange<R> | null): Promise<R>;
}

export interface CreationOptions {
  idempotencyKey: string;
  permit: Permit | null;
}

/**
 * Sends the creation of a claimed record to the gateway, unless an earlier request was answered,
 * and replies.
 */
export async function create<R extends SentRecord, View extends object, Answer>(
  service: Service,
  kind: CreatedKind<R, View>,
  claim: RecordClaim<R, View>,
  creation: Creation<R, Answer>,
): Promise<keys.RequestResult<View>> {
  if (claim.type === "replay") return { body: claim.body, isReplayed: true };
  const { record, request } = claim;
  using permit = claim.type === "new" ? claim.probe : null;
  const isResumed = claim.type === "resume";
  try {
    if (isResumed && record.status !== "pending") {
      return { body: await replyFromRecord(service, kind, request, record), isReplayed: false };
    }
    const canSend = isResumed ? canResend : canStillSend;
    if (!canSend(record, creation.resendWindowMs, service.clock())) {
      throw await endWithoutAnswer(service, kind, request, record);
    }
    const isChecked = service.clock() >= record.sent_at.getTime() + UNANSWERED_CHECK_MS;
    const wasSentBefore = isResumed || (isChecked && creation.isResentByTask);
    const sent = { wasSentBefore, permit };
    const created = await sendCreation(service, kind, request, record, creation, sent);
    return { body: kind.view(created), isReplayed: false };
  } catch (error) {
    throw endCreation(service, kind, request, record, error);
  }
}

/** Inserts the record, or finds the one that an earlier request with the same key inserted. */
export async function claimRecord<R extends SentRecord, View extends object>(
  service: Service,
  kind: CreatedKind<R, View>,
  { caller, requestKey }: Pick<RecordCreation<R>, "caller" | "requestKey">,
  /** `failed`: the failed record of an earlier request, which the new one replaces. */
  newRecord: (failed: R | null) => R,
  orders: GeneratedOrders | null = null,
): Promise<RecordClaim<R, View>> {
  let replaces: EarlierRecord<R> | null = null;
  for (;;) {
    const record = newRecord(replaces?.record ?? null);
    const { order_id } = record as { order_id?: string };
    const isOrderGenerated = orders !== null && orders.current() === order_id;
    const insert: RecordCreation<R> = { caller, requestKey, record, replaces, isOrderGenerated };
    const inserted: Insertion<R, View> = await insertRecord(service, kind, insert);
    if (inserted.type === "order_in_use") {
      await orders!.next();
      replaces = inserted.earlier;
      continue;
    }
    if (inserted.type !== "resume") return inserted;
    const { earlier, request } = inserted;
    if (earlier?.record && earlier.record.status !== "failed") {
      return { type: "resume", record: earlier.record, request };
    }
    replaces = earlier;
  }
}

/** Calls the gateway, classifies its response and applies it. */
export async function sendCreation<R extends SentRecord, View extends object, Answer>(
  service: Service,
  kind: CreatedKind<R, View>,
  request: KeyedRequest,
  record: R,
  creation: Creation<R, Answer>,
  { wasSentBefore, permit = null }: { wasSentBefore: boolean; permit?: Permit | null },
): Promise<R> {
  let answer: GatewayResponse<Answer>;
  try {
    answer = await creation.call(record, { idempotencyKey: record.id, permit });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    // Refused only if it is certain that no attempt created the object.
    if (error.outcome !== "refused" || wasSentBefore) {
      const problem = kind.problems.gatewayProblem(error, record, "unknown");
      throw await endWithUnknownOutcome(service, kind, request, record, problem);
    }
    const problem = creation.refusal?.(record, error) ??
      kind.problems.gatewayProblem(error, record);
    await creation.applyRefusal(record, keyWithError(request, problem));
    throw problem;
  }
  if (!creation.answers(record, answer.body)) {
    const problem = kind.problems.unclearAnswer(record, answer.statusCode);
    throw await endWithUnknownOutcome(service, kind, request, record, problem);
  }
  const key = keyWithReply(request, kind.view);
  return await creation.apply(record, answer.body, key);
}

/**
 * Claims the key and inserts the record in one statement. Throws if the order id is in use. While
 * the gateway is down, nothing is inserted, except for the one record whose creation probes the
 * gateway. A request whose key was used before continues the earlier request.
 */
export async function insertRecord<R extends GatewayRecord, View extends object>(
  service: Service,
  kind: CreatedKind<R, View>,
  creation: RecordCreation<R>,
): Promise<Insertion<R, View>> {
  const { caller, requestKey, replaces } = creation;
  if (service.gateway.breakerState("write") === "closed") {
    return await tryInsert(service, kind, creation);
  }
  if (requestKey && !replaces && await keys.isKeyUsed(service, caller, requestKey)) {
    return await findEarlier(service, kind, caller, requestKey);
  }
  const probe = service.gateway.takeProbe();
  if (!probe) {
    if (replaces) await keys.finishKey(service, replaces.key, null);
    throw gatewayDownProblem();
  }
  using unused = new DisposableStack();
  unused.use(probe);
  const inserted = await tryInsert(service, kind, creation);
  if (inserted.type !== "new") return inserted;
  unused.move();
  return { ...inserted, probe };
}

async function tryInsert<R extends GatewayRecord, View extends object>(
  service: Service,
  kind: CreatedKind<R, View>,
  { caller, requestKey, record, replaces, isOrderGenerated }: RecordCreation<R>,
): Promise<Insertion<R, View>> {
  const now = record.created_at;
  record.created_by = actorOf(caller);
  requireInvariants(service, kind, record, null);
  const { thisInstance } = service;
  const key = requestKey && keys.newKeyClaim(requestKey, caller, record.id, { now, thisInstance });
  const insert = {
    record,
    key,
    keysSince: keys.oldestValidKey(service, now),
    replaces: replaces?.id ?? null,
  };
  const run = () => batched(service.database, kind.inserts, insert);
  const { isClaimed, isInserted } = await keys.releaseAfterError(
    service,
    key,
    // Before the statement, the key has the lease with which it was taken over.
    () => keys.releaseAfterError(service, replaces?.key ?? null, run),
  );
  if (requestKey && !isClaimed) return await findEarlier(service, kind, caller, requestKey);
  if (!isInserted && key && isOrderGenerated) {
    return { type: "order_in_use", earlier: { id: record.id, record: null, key } };
  }
  if (!isInserted) throw await refuseOrder(service, key, record as { order_id?: string });
  const request = { key, isRetriedByJob: requestKey?.isRetriedByJob };
  return { type: "new", record, request, probe: null };
}

async function findEarlier<R extends GatewayRecord, View extends object>(
  service: Service,
  kind: CreatedKind<R, View>,
  caller: Caller,
  requestKey: keys.RequestKey,
): Promise<Insertion<R, View>> {
  const known = await keys.resumeOrReplay(service, caller, requestKey);
  if (known.type === "replay") return { type: "replay", body: known.body as View };
  const request = { key: known.key, isRetriedByJob: requestKey.isRetriedByJob };
  const id = known.earlier?.resourceId ?? null;
  if (id === null) return { type: "resume", earlier: null, request };
  const record = await keys.releaseAfterError(
    service,
    known.key,
    () => service.database.query((sql) => kind.find(sql, id), `find ${kind.resource}`),
  );
  if (record && record.user_id !== caller.userId) {
    service.keyReleases.add(known.key);
    throw violationOf(
      service.log,
      kind.resource,
      id,
      "an idempotency key of another user names it",
    );
  }
  return { type: "resume", earlier: { id, record, key: known.key }, request };
}

async function refuseOrder(
  service: Service,
  key: KeyedRequest["key"],
  { order_id }: { order_id?: string },
): Promise<ServiceError> {
  const problem = new ServiceError("duplicate_order", {
    detail: `Order id ${order_id} is already in use. Send a new order_id, or retry with the ` +
      "original Idempotency-Key.",
    members: { order_id, outcome: "refused" },
  });
  if (key) await keys.finishKey(service, key, replyFor(problem));
  return problem;
}

export interface SentRecord extends GatewayRecord {
  status: string;
  /** When the creation was first sent to the gateway. */
  sent_at: Date;
}

/** Upper limit for one call, which must end before the gateway forgets the idempotency key. */
const CALL_MS = 20_000;

/**
 * Whether the creation can still be sent for the first time. If this process was paused after it
 * inserted the record, another instance may have sent the creation, and the gateway may have
 * forgotten its idempotency key since.
 */
function canStillSend({ sent_at }: SentRecord, windowMs: number, now: number): boolean {
  return now - sent_at.getTime() < windowMs - CALL_MS;
}

/**
 * Whether sending the creation again is safe. After `windowMs` the gateway forgets the idempotency
 * key and would create a second object.
 */
export function canResend(record: SentRecord, windowMs: number, now: number): boolean {
  return now >= record.sent_at.getTime() && canStillSend(record, windowMs, now);
}

/**
 * Ends a request if it stays unknown whether the gateway created the object: the gateway did not
 * respond, the creation cannot be sent again, and an object cannot be looked up without its id.
 */
async function endWithoutAnswer<R extends GatewayRecord>(
  service: Service,
  { problems }: CreatedKind<R>,
  { key }: KeyedRequest,
  record: R,
): Promise<ServiceError> {
  if (key) await keys.finishKey(service, key, null);
  return problems.neverAnswered(record);
}
