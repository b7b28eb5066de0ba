/** Does later what a caller asked for: as that caller and by the same key, and so at most once. */

import { Buffer } from "node:buffer";
import type { GatewayJob } from "../../db/jobs.ts";
import type { Caller } from "../auth/caller.ts";
import type { Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import type { KeyedAttempt } from "../idempotency/attempt.ts";
import { replyOf } from "../idempotency/reply.ts";
import type { AskedPayload } from "./ask_async.ts";
import { PutOff, type Task } from "./task.ts";

/**
 * By then the key is about to be forgotten, and with it what an earlier attempt may have done. It
 * also ends what is put off time and again.
 */
const LATEST_MS = 23 * 3_600_000;

export interface Asked<Input> {
  caller: Caller;
  input: Input;
  attempt: KeyedAttempt;
}

type Answer<Input> = (asked: Asked<Input>, job: GatewayJob) => Promise<object>;

/** `answer` is what a synchronous request is answered with; its problems are the job's. */
export function askedTask<Input extends object>(clock: Clock, answer: Answer<Input>): Task {
  return {
    retries: 5,
    firstDelayMs: 10_000,
    // What would be answered the same for 24 hours.
    isFinal: (error) => replyOf(error) !== null,
    async run(job) {
      if (clock() > job.created_at.getTime() + LATEST_MS) throw tooLate();
      try {
        return await answer(askedBy<Input>(job), job);
      } catch (error) {
        throw putOffBy(error, clock()) ?? tellable(error);
      }
    },
  };
}

function askedBy<Input extends object>({ id, payload }: GatewayJob): Asked<Input> {
  const { caller, key, scope, body_hash, input } = payload as unknown as AskedPayload;
  const bodyHash = Buffer.from(body_hash, "hex");
  return { caller, input: input as Input, attempt: { key: key ?? id, scope, bodyHash } };
}

/** Whoever says when to come back has not refused anything: that is no failure. */
function putOffBy(error: unknown, now: number): PutOff | null {
  const seconds = error instanceof ServiceError ? error.headers["Retry-After"] : undefined;
  return seconds === undefined ? null : new PutOff(new Date(now + Number(seconds) * 1_000));
}

/** Whoever asked will read it: what nobody foresaw is for the log alone. */
function tellable(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError("internal_error", { cause: error });
}

function tooLate(): ServiceError {
  return new ServiceError("invalid_state", {
    detail: "It was asked for too long ago to be done now: ask for it anew.",
  });
}
