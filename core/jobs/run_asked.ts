/** Does later what a caller asked for: as that caller and by the same key, and so at most once. */

import { Buffer } from "node:buffer";
import type { GatewayJob } from "../../db/jobs.ts";
import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import { retryAt } from "../gateway/rate_limit.ts";
import * as keys from "../idempotency/keys.ts";
import type { RequestKey } from "../idempotency/keys.ts";
import { replay, replyFor } from "../idempotency/reply.ts";
import { type AskedPayload, isTooLate } from "./asked.ts";
import { PostponeJob, type Task } from "./task.ts";

export interface Asked<Input> {
  caller: Caller;
  input: Input;
  attempt: RequestKey;
  /** From when on its key counts. */
  since: Date;
}

/** How one kind of request is done later. */
export interface Doing<Input> {
  /** What a synchronous request is answered with; its problems are the job's. */
  answer(asked: Asked<Input>, job: GatewayJob): Promise<object>;
  /** The same as the job tells it. */
  resultOf(answer: object): object;
}

/** Thrown by `answer` where it cannot be done any more; says why. */
export class NoLongerPossible extends Error {
  override name = "NoLongerPossible";
}

/** Nothing more will come of it, whatever was done before. */
class Ended extends ServiceError {
  override name = "Ended";
}

export function askedTask<Input extends object>(deps: keys.KeyDeps, doing: Doing<Input>): Task {
  return {
    retries: 5,
    firstDelayMs: 10_000,
    // What would be answered the same for 24 hours.
    isFinal: (error) => error instanceof Ended || replyFor(error) !== null,
    async run(job) {
      try {
        return doing.resultOf(await answer(deps, doing, job));
      } catch (error) {
        throw putOffBy(error, deps.clock()) ?? tellable(error);
      }
    },
  };
}

async function answer<Input extends object>(
  deps: keys.KeyDeps,
  doing: Doing<Input>,
  job: GatewayJob,
): Promise<object> {
  const asked = askedBy<Input>(job);
  try {
    if (isTooLate(job, deps.clock())) {
      throw new NoLongerPossible("It was asked for too long ago to be done now.");
    }
    return await doing.answer(asked, job);
  } catch (error) {
    if (!(error instanceof NoLongerPossible)) throw error;
    return await answerFromBefore(deps, asked, error.message);
  }
}

function askedBy<Input extends object>({ id, payload }: GatewayJob): Asked<Input> {
  const { caller, key, key_since, scope, body_hash, input } = payload as unknown as AskedPayload;
  const bodyHash = Buffer.from(body_hash, "hex");
  return {
    caller,
    input: input as Input,
    attempt: { key: key ?? id, scope, bodyHash, isRetriedByJob: true },
    since: new Date(key_since),
  };
}

/** Nobody shall be told to ask anew for what an earlier attempt has done, or may have. */
async function answerFromBefore(
  deps: keys.KeyDeps,
  { caller, attempt, since }: Asked<object>,
  why: string,
): Promise<object> {
  const left = await keys.findSameRequest(deps, caller, attempt);
  if (left?.reply) return replay(left.reply);
  if (left) {
    throw new Ended("invalid_state", {
      detail: `${why} An earlier attempt may have done it: look at the payment.`,
      members: { payment_id: left.resource_id, outcome: "unknown" },
    });
  }
  const isForgotten = since < keys.oldestValidKey(new Date(deps.clock()));
  throw new Ended("invalid_state", {
    detail: isForgotten
      ? `${why} Nothing tells any more whether an earlier attempt did it: look for it first.`
      : `${why} Nothing was done: ask for it anew.`,
  });
}

/** Whoever says when to come back has not refused anything: that is no failure. */
function putOffBy(error: unknown, now: number): PostponeJob | null {
  const until = retryAt(error, now);
  return until && new PostponeJob(until);
}

/** Whoever asked will read it: what nobody foresaw is for the log alone. */
function tellable(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError("internal_error", { cause: error });
}
