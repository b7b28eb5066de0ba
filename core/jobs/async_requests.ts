/**
 * Requests with `Prefer: respond-async`: the service stores the request as a job and responds with
 * the job. The job later runs the request with the same caller and idempotency key, so that the
 * request takes effect once.
 */

import { Buffer } from "node:buffer";
import { findKey, type IdempotencyKey } from "../../db/records/idempotency_keys.ts";
import { NO_LOCK } from "../../db/connection/instance_lock.ts";
import {
  findJob,
  type GatewayJob,
  insertKeyedRequest,
  insertRequest,
  LANES,
  type NewJob,
  requeueWithSecret,
} from "../../db/jobs/jobs.ts";
import type { Caller } from "../auth/caller.ts";
import type { Service } from "../service.ts";
import { ServiceError } from "../errors.ts";
import { retryAt } from "../gateway/rate_limit.ts";
import * as keys from "../idempotency/keys.ts";
import type { RequestKey, RequestResult } from "../idempotency/keys.ts";
import { replay, replyFor } from "../idempotency/reply.ts";
import { newId } from "../ids.ts";
import { type JobView, requireJob, viewJob } from "./read.ts";
import { PostponeJob, type Task } from "./task.ts";

/** The payload of the job; stored, so no member may be renamed. */
interface AsyncRequestPayload {
  caller: Caller;
  /** Null: the caller sent none, and the id of the job is the key. */
  key: string | null;
  /** When the key was first used: for this job, or earlier by a synchronous request. */
  key_since: string;
  scope: string;
  /** Hexadecimal. */
  body_hash: string;
  input: object;
}

const HOUR_MS = 3_600_000;

/** After this time, a postponed request ends: a customer must not be charged days later. */
const LIFETIME_MS = 23 * HOUR_MS;

/**
 * Whether it is too late to run the request of a job; false for jobs without a request. A request
 * also ends one hour before its key expires: without the key, nothing shows what an earlier attempt
 * did.
 */
export function hasRequestExpired(
  service: Pick<Service, "keep" | "clock">,
  { payload: { key_since }, created_at }: GatewayJob,
): boolean {
  if (typeof key_since !== "string") return false;
  const keyEnd = Date.parse(key_since) + keys.keyLifetimeMs(service);
  return service.clock() > Math.min(created_at.getTime() + LIFETIME_MS, keyEnd - HOUR_MS);
}

/** `key` is null if the caller sent none. */
export interface AsyncRequest extends Omit<RequestKey, "key"> {
  key: string | null;
  task: string;
  input: object;
  /** Encrypts the part of the input that must not be readable; the result is bound to the job. */
  secret?: (jobId: string) => string;
}

/**
 * Stores the request as a job. A repeated key and body return the same job. The key is claimed in
 * two scopes. The claim in the scope `async …` refers to the job. The claim in the scope of the
 * request is made by the job, or by a synchronous request that runs first. So the request takes
 * effect once, no matter how often it is sent, synchronously or not.
 */
export async function acceptAsyncRequest(
  service: Service,
  caller: Caller,
  request: AsyncRequest,
): Promise<RequestResult<JobView>> {
  const now = new Date(service.clock());
  const requestKey = request.key === null ? null : { ...request, key: request.key };
  const used = requestKey && await findUsedKey(service, caller, requestKey);
  const job = newRequestJob(caller, request, { now, used });
  if (!requestKey) {
    await service.database.query((sql) => insertRequest(sql, job), "insert job");
  } else {
    const asyncKey = { ...requestKey, scope: `async ${requestKey.scope}` };
    const claim = {
      // This key is never taken over: a repeated request returns the job.
      key: keys.newKeyClaim(asyncKey, caller, job.id, { now, thisInstance: NO_LOCK }),
      keysSince: keys.oldestValidKey(service, now),
    };
    const isNew = await service.database.query(
      (sql) => insertKeyedRequest(sql, job, claim),
      "insert keyed job",
    );
    if (!isNew) {
      const earlier = await findEarlierJob(service, caller, asyncKey);
      return await resumeOrReturn(service, earlier, { request, hasReply: Boolean(used?.reply) });
    }
  }
  service.jobQueue.enqueue(job);
  return { body: viewNewJob(job), isReplayed: false };
}

function newRequestJob(
  caller: Caller,
  request: AsyncRequest,
  { now, used }: { now: Date; used: IdempotencyKey | null },
): NewJob {
  const { task, key, scope, bodyHash, input, secret } = request;
  const id = newId(now);
  const body_hash = Buffer.from(bodyHash).toString("hex");
  const since = used && used.created_at < now ? used.created_at : now;
  const key_since = since.toISOString();
  const payload: AsyncRequestPayload = { caller, key, key_since, scope, body_hash, input };
  return {
    id,
    task,
    // Queued jobs with the same subject are merged, which must not happen to requests.
    subject_id: null,
    payload,
    secret: secret?.(id) ?? null,
    user_id: caller.userId,
    run_at: now,
    created_at: now,
  };
}

/**
 * The key, if a synchronous request or the job has used it. Throws if it was used with another
 * body.
 */
async function findUsedKey(
  service: Service,
  caller: Caller,
  requestKey: RequestKey,
): Promise<IdempotencyKey | null> {
  const used = await keys.findUsedKey(service, caller, requestKey);
  if (used) keys.requireSameRequest(used, requestKey);
  return used;
}

/**
 * If a failed job has no stored reply, its outcome is unknown, so it is queued again. Its secret
 * was erased, but the repeated request contains it.
 */
async function resumeOrReturn(
  service: Service,
  job: GatewayJob,
  { request, hasReply }: { request: AsyncRequest; hasReply: boolean },
): Promise<RequestResult<JobView>> {
  const now = service.clock();
  if (job.status !== "failed" || hasReply || hasRequestExpired(service, job)) {
    return { body: viewJob(job), isReplayed: true };
  }
  const secret = request.secret?.(job.id) ?? null;
  const queued = await service.database.query(
    (sql) => requeueWithSecret(sql, job.id, secret, new Date(now)),
    "queue job again",
  );
  if (queued) service.jobQueue.enqueue(queued);
  return { body: viewJob(queued ?? await requireJob(service, job.id)), isReplayed: !queued };
}

/** The job of an earlier request with the key, in its current state. */
async function findEarlierJob(
  { database }: Service,
  caller: Caller,
  requestKey: RequestKey,
): Promise<GatewayJob> {
  const id = keys.keyIdOf(requestKey, caller);
  const known = await database.query((sql) => findKey(sql, id), "find key");
  if (known) keys.requireSameRequest(known, requestKey);
  const jobId = known?.resource_id ?? null;
  const job = jobId && await database.query((sql) => findJob(sql, jobId), "find job");
  // The key or the job was pruned just now: a retry creates a new job.
  if (!job) throw keys.requestInProgress(1);
  return job;
}

function viewNewJob(job: NewJob): JobView {
  const { run_at, created_at } = job;
  return viewJob({
    ...job,
    lane: LANES.requests,
    status: "queued",
    attempts: 0,
    run_at,
    lease_id: null,
    lease_until: null,
    holder: null,
    result: null,
    error: null,
    updated_at: created_at,
  });
}

/** A request, restored from its job. */
export interface DeferredRequest<Input> {
  caller: Caller;
  input: Input;
  requestKey: RequestKey;
  /** The start of the key's lifetime. */
  since: Date;
}

/** How one type of request is run. */
export interface AsyncHandler<Input> {
  /** Returns the same response body and throws the same errors as a synchronous request. */
  run(request: DeferredRequest<Input>, job: GatewayJob): Promise<object>;
  /** Builds the job's result from the response body. */
  resultOf(body: object): object;
}

/** Thrown by `run` if the request can no longer be processed; the message says why. */
export class NoLongerPossible extends Error {
  override name = "NoLongerPossible";
}

/** Ends the job: no retry can change the outcome. */
class RequestEnded extends ServiceError {
  override name = "RequestEnded";
}

export function asyncRequestTask<Input extends object>(
  service: Service,
  handler: AsyncHandler<Input>,
): Task {
  return {
    retries: 5,
    firstDelayMs: 10_000,
    // If the error is stored as the reply, every retry gets the same error until the key expires.
    isFinal: (error) => error instanceof RequestEnded || replyFor(error) !== null,
    async run(job) {
      try {
        return handler.resultOf(await runRequest(service, handler, job));
      } catch (error) {
        throw postponement(error, service.clock()) ?? callerError(error);
      }
    },
  };
}

async function runRequest<Input extends object>(
  service: Service,
  handler: AsyncHandler<Input>,
  job: GatewayJob,
): Promise<object> {
  const request = requestOf<Input>(job);
  try {
    if (hasRequestExpired(service, job)) {
      throw new NoLongerPossible(
        "The Idempotency-Key is more than 23 hours old, so the request can no longer be processed.",
      );
    }
    return await handler.run(request, job);
  } catch (error) {
    if (!(error instanceof NoLongerPossible)) throw error;
    return await replayEarlierAttempt(service, request, error.message);
  }
}

function requestOf<Input extends object>({ id, payload }: GatewayJob): DeferredRequest<Input> {
  const { caller, key, key_since, scope, body_hash, input } =
    payload as unknown as AsyncRequestPayload;
  const bodyHash = Buffer.from(body_hash, "hex");
  return {
    caller,
    input: input as Input,
    requestKey: { key: key ?? id, scope, bodyHash, isRetriedByJob: true },
    since: new Date(key_since),
  };
}

/**
 * Replays the stored reply of an earlier attempt. Without a stored reply it throws. The error asks
 * the caller to send a new request only if no earlier attempt can have had an effect.
 */
async function replayEarlierAttempt(
  service: Service,
  { caller, requestKey, since }: DeferredRequest<object>,
  why: string,
): Promise<object> {
  const earlier = await keys.findSameRequest(service, caller, requestKey);
  if (earlier?.reply) return replay(earlier.reply);
  if (earlier) {
    throw new RequestEnded("invalid_state", {
      detail: `${why} An earlier attempt may have succeeded: read the payment to see its status.`,
      members: { payment_id: earlier.resource_id, outcome: "unknown" },
    });
  }
  const isKeyExpired = since < keys.oldestValidKey(service, new Date(service.clock()));
  throw new RequestEnded("invalid_state", {
    detail: isKeyExpired
      ? `${why} Its Idempotency-Key has expired, so it is not known whether an earlier attempt ` +
        "succeeded. Look up the payment to find out."
      : `${why} No charge or refund was made. Send a new request.`,
  });
}

/** An error that says when to retry postpones the job, and is not a failure. */
function postponement(error: unknown, now: number): PostponeJob | null {
  const until = retryAt(error, now);
  return until && new PostponeJob(until);
}

/** Callers can read the job's error, so an unexpected error is hidden behind `internal_error`. */
function callerError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError("internal_error", { cause: error });
}
