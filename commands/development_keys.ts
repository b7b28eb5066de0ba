/**
 * The user key and the staff key of the embedded default, which is a service without `DATABASE_URL`
 * and `GATEWAY_SERVER_KEY`. They are the same at every start.
 */

import { join } from "node:path";
import { generateApiKey } from "../core/secrets/api_key.ts";
import { ensureKey } from "../core/auth/api_keys.ts";
import type { Database } from "../db/connection/database.ts";

/** File name in the data folder. */
export const DEVELOPMENT_KEYS = "development_keys.json";

/** The user whose key the start message prints. */
export const DEVELOPER = "developer";

export interface DevelopmentKeys {
  user: string;
  staff: string;
}

/** Stores the keys in a file, because the database has only hashes. Replaces revoked keys. */
export async function ensureDevelopmentKeys(
  database: Database,
  dataDir: string,
): Promise<DevelopmentKeys> {
  const path = join(dataDir, DEVELOPMENT_KEYS);
  const known = await readKeys(path);
  const keys = {
    user: await ensureDevelopmentKey(database, known.user, DEVELOPER, false),
    staff: await ensureDevelopmentKey(database, known.staff, "developer-staff", true),
  };
  await Deno.writeTextFile(path, JSON.stringify(keys, null, 2) + "\n", { mode: 0o600 });
  return keys;
}

async function ensureDevelopmentKey(
  database: Database,
  known: string | undefined,
  userId: string,
  isStaff: boolean,
): Promise<string> {
  const owner = { userId, isStaff, name: "development", isDevelopment: true };
  if (known && await ensureKey(database, known, owner)) return known;
  const key = generateApiKey();
  await ensureKey(database, key, owner);
  return key;
}

async function readKeys(path: string): Promise<Partial<DevelopmentKeys>> {
  try {
    return JSON.parse(await Deno.readTextFile(path));
  } catch {
    return {};
  }
}
