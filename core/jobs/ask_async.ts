/** Takes a request to be done later: its job is written, and nothing else happens until it runs. */

import { Buffer } from "node:buffer";
import type { Database } from "../../db/database.ts";
import { findKey } from "../../db/idempotency_keys.ts";
import { findJob, insertJobs, insertKeyedJob, type NewJob } from "../../db/jobs.ts";
import type { Caller } from "../auth/caller.ts";
import type { Clock } from "../clock.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import * as keys from "../idempotency/keys.ts";
import { newId } from "../new_id.ts";
import type { Carrier } from "./carrier.ts";
import { type JobView, viewJob } from "./views.ts";

export interface AskDeps {
  database: Database;
  carrier: Carrier;
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

/** What the task is told of it. */
export interface AskedPayload {
  /** Who asked: it is done as if they asked at that moment. */
  caller: Caller;
  /** Null: they gave none, and the job's own id is the key. */
  key: string | null;
  scope: string;
  /** Hexadecimal. */
  body_hash: string;
  input: object;
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
  const job = newJob(caller, request, now);
  if (request.key === null) {
    await deps.database.query((sql) => insertJobs(sql, [job]), "insert job");
  } else {
    const attempt = { ...request, key: request.key };
    await refuseOther(deps, caller, attempt, now);
    const asked = { ...attempt, scope: `async ${attempt.scope}` };
    const claim = {
      key: keys.claimFor(asked, caller, job.id, now),
      keysSince: keys.keysSince(now),
    };
    const isNew = await deps.database.query(
      (sql) => insertKeyedJob(sql, job, claim),
      "insert keyed job",
    );
    if (!isNew) return { body: await findAsked(deps, caller, asked, now), isReplayed: true };
  }
  deps.carrier.carry(job);
  return { body: viewNew(job), isReplayed: false };
}

function newJob(caller: Caller, request: AsyncRequest, now: Date): NewJob {
  const { task, key, scope, bodyHash, input, secret } = request;
  const id = newId(now);
  const body_hash = Buffer.from(bodyHash).toString("hex");
  const payload: AskedPayload = { caller, key, scope, body_hash, input };
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

/** Said at once where a synchronous request used the key; else the job would be told so in vain. */
async function refuseOther(
  { database }: AskDeps,
  caller: Caller,
  attempt: KeyedAttempt,
  now: Date,
): Promise<void> {
  const id = keys.keyIdOf(attempt, caller);
  const used = await database.query((sql) => findKey(sql, id), "find key");
  if (used && used.created_at >= keys.keysSince(now)) keys.checkSame(used, attempt);
}

/** The job that an earlier request with the key was answered with, as it stands by now. */
async function findAsked(
  { database }: AskDeps,
  caller: Caller,
  asked: KeyedAttempt,
  now: Date,
): Promise<JobView> {
  const id = keys.keyIdOf(asked, caller);
  const known = await database.query((sql) => findKey(sql, id), "find key");
  if (known) keys.checkSame(known, asked);
  const jobId = known?.resource_id ?? null;
  const job = jobId && await database.query((sql) => findJob(sql, jobId), "find job");
  // Pruned in this very moment: new the next time.
  if (!job) throw keys.inProgress(now, now);
  return viewJob(job);
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
