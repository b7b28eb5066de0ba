/** Takes a request to be done later: its job is written, and nothing else happens until it runs. */

import { Buffer } from "node:buffer";
import type { Database } from "../../db/database.ts";
import { findKey, type IdempotencyKey } from "../../db/idempotency_keys.ts";
import { findJob } from "../../db/job_queries.ts";
import {
  type GatewayJob,
  insertJobs,
  insertKeyedJob,
  type NewJob,
  requeueWithSecret,
} from "../../db/jobs.ts";
import type { Caller } from "../auth/caller.ts";
import type { Clock } from "../clock.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import * as keys from "../idempotency/keys.ts";
import { newId } from "../new_id.ts";
import { type AskedPayload, isTooLate } from "./asked.ts";
import type { JobQueue } from "./queue.ts";
import { find } from "./read.ts";
import { type JobView, viewJob } from "./views.ts";

export interface AskDeps {
  database: Database;
  jobQueue: JobQueue;
  clock: Clock;
}

/** What is asked for; `key` is null where the caller gave none. */
export interface AsyncRequest extends Omit<KeyedAttempt, "key"> {
  key: string | null;
  task: string;
  input: object;
  /** What the input lacks because nobody may read it: sealed for the job of this id. */
  secret?: (jobId: string) => string;
}

/**
 * The same key and body give the same job again. For that the key is claimed a second time, under a
 * scope of its own: there it leads to the job, while the job (or a synchronous request that overtakes
 * it) claims it under the request's scope, where it leads to what was done. Whoever comes by which way
 * and however often, what is asked for happens once.
 */
export async function askAsync(
  deps: AskDeps,
  caller: Caller,
  request: AsyncRequest,
): Promise<Outcome<JobView>> {
  const now = new Date(deps.clock());
  const attempt = request.key === null ? null : { ...request, key: request.key };
  const used = attempt && await findUsed(deps, caller, attempt);
  const job = newJob(caller, request, { now, used });
  if (!attempt) {
    await deps.database.query((sql) => insertJobs(sql, [job]), "insert job");
  } else {
    const asked = { ...attempt, scope: `async ${attempt.scope}` };
    const claim = {
      key: keys.claimFor(asked, caller, job.id, now),
      keysSince: keys.keysSince(now),
    };
    const isNew = await deps.database.query(
      (sql) => insertKeyedJob(sql, job, claim),
      "insert keyed job",
    );
    if (!isNew) {
      const known = await findAsked(deps, caller, asked, now);
      return await meet(deps, known, { request, isAnswered: Boolean(used?.reply) });
    }
  }
  deps.jobQueue.enqueue(job);
  return { body: viewNew(job), isReplayed: false };
}

function newJob(
  caller: Caller,
  request: AsyncRequest,
  { now, used }: { now: Date; used: IdempotencyKey | null },
): NewJob {
  const { task, key, scope, bodyHash, input, secret } = request;
  const id = newId(now);
  const body_hash = Buffer.from(bodyHash).toString("hex");
  const since = used && used.created_at < now ? used.created_at : now;
  const key_since = since.toISOString();
  const payload: AskedPayload = { caller, key, key_since, scope, body_hash, input };
  return {
    id,
    task,
    // Nothing that it could share with another: each is done by itself.
    subject_id: null,
    payload,
    secret: secret?.(id) ?? null,
    user_id: caller.userId,
    run_at: now,
    created_at: now,
  };
}

/** The key as a synchronous request, or the job, used it. That it was for another is said at once. */
async function findUsed(
  deps: AskDeps,
  caller: Caller,
  attempt: KeyedAttempt,
): Promise<IdempotencyKey | null> {
  const used = await keys.findKnown(deps, caller, attempt);
  if (used) keys.checkSame(used, attempt);
  return used;
}

/**
 * A job that came to no certain end is no answer for as long as the key counts: as a synchronous
 * request would, it goes on. It may have lost its secret, which the request brings again.
 */
async function meet(
  deps: AskDeps,
  job: GatewayJob,
  { request, isAnswered }: { request: AsyncRequest; isAnswered: boolean },
): Promise<Outcome<JobView>> {
  const now = deps.clock();
  if (job.status !== "failed" || isAnswered || isTooLate(job, now)) {
    return { body: viewJob(job), isReplayed: true };
  }
  const secret = request.secret?.(job.id) ?? null;
  const queued = await deps.database.query(
    (sql) => requeueWithSecret(sql, job.id, secret, new Date(now)),
    "queue job again",
  );
  if (queued) deps.jobQueue.enqueue(queued);
  return { body: viewJob(queued ?? await find(deps, job.id)), isReplayed: !queued };
}

/** The job that an earlier request with the key was answered with, as it stands by now. */
async function findAsked(
  { database }: AskDeps,
  caller: Caller,
  asked: KeyedAttempt,
  now: Date,
): Promise<GatewayJob> {
  const id = keys.keyIdOf(asked, caller);
  const known = await database.query((sql) => findKey(sql, id), "find key");
  if (known) keys.checkSame(known, asked);
  const jobId = known?.resource_id ?? null;
  const job = jobId && await database.query((sql) => findJob(sql, jobId), "find job");
  // Pruned in this very moment: new the next time.
  if (!job) throw keys.inProgress(now, now);
  return job;
}

function viewNew(job: NewJob): JobView {
  const { run_at, created_at } = job;
  return viewJob({
    ...job,
    status: "queued",
    attempts: 0,
    run_at,
    lease_until: null,
    result: null,
    error: null,
    updated_at: created_at,
  });
}
