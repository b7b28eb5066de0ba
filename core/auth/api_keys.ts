/** Creates API keys, and finds the caller that uses a key. */

import { Buffer } from "node:buffer";
import { setTimeout as delay } from "node:timers/promises";
import { type ApiKey, findApiKey, findApiKeys, useApiKey } from "../../db/access/api_keys.ts";
import { type Database, meansNoWrites } from "../../db/connection/database.ts";
import { displayPrefix, generateApiKey, hashApiKey } from "../secrets/api_key.ts";
import type { Clock } from "../time/clock.ts";
import { ServiceError } from "../errors.ts";
import type { Caller } from "./caller.ts";
import { storeApiKey } from "./order_prefix.ts";

export interface KeyOwner {
  userId: string;
  isStaff: boolean;
  isViewer?: boolean;
  name: string | null;
  /** Only for users. */
  orderPrefix?: string | null;
  isDevelopment?: boolean;
}

/** Returns the new key. It is not stored, so this is the only time it can be shown. */
export async function createKey(database: Database, owner: KeyOwner): Promise<string> {
  const key = generateApiKey();
  await ensureKey(database, key, owner);
  return key;
}

/**
 * Creates the key if it is missing. Returns false if the key exists but is revoked, or has another
 * role or development flag than `owner`.
 */
export async function ensureKey(
  database: Database,
  key: string,
  owner: KeyOwner,
): Promise<boolean> {
  const { isStaff, isViewer = false, isDevelopment = false } = owner;
  const stored = await database.transaction((sql) =>
    storeApiKey(sql, {
      hash: hashApiKey(key),
      prefix: displayPrefix(key),
      user_id: owner.userId,
      is_staff: isStaff,
      is_viewer: isViewer,
      is_development: isDevelopment,
      name: owner.name,
      order_prefix: owner.orderPrefix ?? null,
    })
  );
  return stored.revoked_at === null && stored.is_staff === isStaff &&
    stored.is_viewer === isViewer && stored.is_development === isDevelopment;
}

/** Does not record the use of the key while the database is read-only, so that reads still work. */
async function findKey(database: Database, hash: Uint8Array): Promise<ApiKey | null> {
  try {
    return await database.query((sql) => useApiKey(sql, hash));
  } catch (error) {
    if (!meansNoWrites(error)) throw error;
    return await database.query((sql) => findApiKey(sql, hash));
  }
}

/** A revoked key must stop working within 5 s; a database query may take the rest of that time. */
const CACHE_MS = 2_000;
const CACHE_SIZE = 10_000;

/**
 * If a sender has sent many wrong keys, its next keys wait this long. Then one query looks up all
 * of them: at most ten queries a second, no matter how many keys are sent. Valid keys still work.
 */
const SUSPECT_PAUSE_MS = 100;
const MAX_SUSPECTS = 1_000;

export interface ApiKeyVerifierOptions {
  database: Database;
  clock: Clock;
  /** Development keys are valid in the embedded default only. */
  acceptDevelopmentKeys: boolean;
}

/**
 * Valid keys are cached for 2 seconds, so that a busy caller does not cost a query per request.
 * Invalid keys (malformed, revoked, unknown) are never cached and always queried, so that response
 * times do not show why a key is invalid.
 */
export function createApiKeyVerifier(options: ApiKeyVerifierOptions) {
  const { database, clock, acceptDevelopmentKeys } = options;
  const cache = new Map<string, { caller: Caller; until: number }>();
  /** The suspect keys that wait for the next query, by hash, and the result of that query. */
  let suspects: { hashes: Map<string, Uint8Array>; found: Promise<Map<string, ApiKey>> } | null =
    null;

  async function lookUp(key: string): Promise<Caller | null> {
    const until = clock() + CACHE_MS;
    const hash = hashApiKey(key);
    const row = await findKey(database, hash);
    return accept(key, row, until);
  }

  async function lookUpSuspect(key: string): Promise<Caller | null> {
    const until = clock() + CACHE_MS;
    const hash = hashApiKey(key);
    const hex = toHex(hash);
    suspects ??= collectSuspects();
    if (suspects.hashes.size >= MAX_SUSPECTS && !suspects.hashes.has(hex)) {
      throw new ServiceError("unavailable", {
        detail: "Too many wrong API keys were sent from your address. Retry later.",
        headers: { "Retry-After": "1" },
      });
    }
    suspects.hashes.set(hex, hash);
    const found = await suspects.found;
    return accept(key, found.get(hex) ?? null, until);
  }

  function collectSuspects() {
    const hashes = new Map<string, Uint8Array>();
    async function find(): Promise<Map<string, ApiKey>> {
      await delay(SUSPECT_PAUSE_MS);
      suspects = null;
      const rows = await database.query((sql) => findApiKeys(sql, [...hashes.values()]));
      return new Map(rows.map((row) => [toHex(row.hash), row]));
    }
    return { hashes, found: find() };
  }

  function accept(key: string, row: ApiKey | null, until: number): Caller | null {
    if (!row || row.revoked_at || (row.is_development && !acceptDevelopmentKeys)) {
      // A key in the cache is looked up again without asking `mayLookUp`, so an invalid key must
      // not stay there.
      cache.delete(key);
      return null;
    }
    const caller = callerOf(row);
    if (cache.size >= CACHE_SIZE) cache.clear();
    cache.set(key, { caller, until });
    return caller;
  }

  return function verifyApiKey(
    key: string,
    mayLookUp: () => boolean,
  ): Caller | Promise<Caller | null> {
    const hit = cache.get(key);
    if (!hit) return mayLookUp() ? lookUp(key) : lookUpSuspect(key);
    const remaining = hit.until - clock();
    // More than CACHE_MS: the clock was set back, which must not prolong the cache.
    return remaining > 0 && remaining <= CACHE_MS ? hit.caller : lookUp(key);
  };
}

function callerOf(row: ApiKey): Caller {
  return {
    userId: row.user_id,
    isStaff: row.is_staff,
    isViewer: row.is_viewer,
    credential: "api_key",
    keyPrefix: row.prefix,
    ...row.order_prefix !== null && { orderPrefix: row.order_prefix },
  };
}

function toHex(hash: Uint8Array): string {
  return Buffer.from(hash).toString("hex");
}
