/** What a job knows of the request it was made for, and until when that may still be done. */

import type { GatewayJob } from "../../db/jobs.ts";
import type { Caller } from "../auth/caller.ts";

export interface AskedPayload {
  /** Who asked: it is done as if they asked at that moment. */
  caller: Caller;
  /** Null: they gave none, and the job's own id is the key. */
  key: string | null;
  /** From when on the key counts: a request that was not async may have borne it before. */
  key_since: string;
  scope: string;
  /** Hexadecimal. */
  body_hash: string;
  input: object;
}

/**
 * By then the key is about to be forgotten, and with it what an earlier attempt may have done. It
 * also ends what is put off time and again.
 */
const LATEST_MS = 23 * 3_600_000;

/** A job that nobody asked for never is. */
export function isTooLate({ payload: { key_since } }: GatewayJob, now: number): boolean {
  return typeof key_since === "string" && now > Date.parse(key_since) + LATEST_MS;
}
