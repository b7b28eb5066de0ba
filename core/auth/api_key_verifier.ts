/** Tells whose an API key is. */

import { findApiKey } from "../../db/api_keys.ts";
import type { Database } from "../../db/database.ts";
import { hashApiKey } from "../api_key.ts";
import type { Clock } from "../clock.ts";
import type { Caller } from "./caller.ts";

/** A revoked key stops working within 5 s: this, and the time a look-up may take. */
const CACHE_MS = 2_000;
const CACHE_SIZE = 10_000;

export interface ApiKeyVerifierOptions {
  database: Database;
  clock: Clock;
  /** Whether the keys of the embedded default count. */
  acceptDevelopmentKeys: boolean;
}

/**
 * Keys that hold are remembered for a moment, so that a busy caller costs no round trip a request.
 * Whatever does not hold (the wrong shape, revoked, unknown) takes the same way to the database and
 * back, and so the same time.
 */
export function createApiKeyVerifier(options: ApiKeyVerifierOptions) {
  const { database, clock, acceptDevelopmentKeys } = options;
  const known = new Map<string, { caller: Caller; until: number }>();

  async function lookUp(key: string): Promise<Caller | null> {
    const until = clock() + CACHE_MS;
    const hash = hashApiKey(key);
    const row = await database.query((sql) => findApiKey(sql, hash));
    if (!row || row.revoked_at || (row.is_development && !acceptDevelopmentKeys)) return null;
    const caller: Caller = {
      userId: row.user_id,
      isStaff: row.is_staff,
      credential: "api_key",
      keyPrefix: row.prefix,
    };
    if (known.size >= CACHE_SIZE) known.clear();
    known.set(key, { caller, until });
    return caller;
  }

  return function verifyApiKey(key: string): Caller | Promise<Caller | null> {
    const hit = known.get(key);
    if (!hit) return lookUp(key);
    const left = hit.until - clock();
    // More than we ever grant: the clock was set back, and nothing may live longer for that.
    return left > 0 && left <= CACHE_MS ? hit.caller : lookUp(key);
  };
}
