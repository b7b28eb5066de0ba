/** Makes API keys, and makes sure of those that an installation begins with. */

import { ensureApiKey } from "../../db/api_keys.ts";
import type { Database } from "../../db/database.ts";
import { displayPrefix, generateApiKey, hashApiKey } from "../api_key.ts";

export interface KeyOwner {
  userId: string;
  isStaff: boolean;
  name: string | null;
  isDevelopment?: boolean;
}

/** Makes a key and returns it: the only time that anybody sees it whole. */
export async function createKey(database: Database, owner: KeyOwner): Promise<string> {
  const key = generateApiKey();
  await ensureKey(database, key, owner);
  return key;
}

/** Makes sure this very key exists; false where one does that is revoked, or another kind of key. */
export async function ensureKey(
  database: Database,
  key: string,
  owner: KeyOwner,
): Promise<boolean> {
  const stored = await database.query((sql) =>
    ensureApiKey(sql, {
      hash: hashApiKey(key),
      prefix: displayPrefix(key),
      user_id: owner.userId,
      is_staff: owner.isStaff,
      is_development: owner.isDevelopment ?? false,
      name: owner.name,
    })
  );
  return stored.revoked_at === null && stored.is_staff === owner.isStaff &&
    stored.is_development === (owner.isDevelopment ?? false);
}
