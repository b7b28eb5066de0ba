/** The two keys a newcomer gets in the embedded default: the same at every start. */

import { join } from "node:path";
import { generateApiKey } from "../core/api_key.ts";
import { ensureKey } from "../core/auth/api_keys.ts";
import type { Database } from "../db/database.ts";

/** The file they are kept in. */
export const DEVELOPMENT_KEYS = "development_keys.json";

export interface DevelopmentKeys {
  user: string;
  staff: string;
}

/** Kept in a file beside the database, which itself holds hashes only. A revoked one is replaced. */
export async function ensureDevelopmentKeys(
  database: Database,
  dataDir: string,
): Promise<DevelopmentKeys> {
  const path = join(dataDir, DEVELOPMENT_KEYS);
  const known = await readKeys(path);
  const keys = {
    user: await ensureOne(database, known.user, "developer", false),
    staff: await ensureOne(database, known.staff, "developer-staff", true),
  };
  await Deno.writeTextFile(path, JSON.stringify(keys, null, 2) + "\n", { mode: 0o600 });
  return keys;
}

async function ensureOne(
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
