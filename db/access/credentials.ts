/**
 * Which API keys and sessions are still valid, for work that goes on after its request was
 * admitted.
 */

import { isValid, type Validity } from "./console_sessions.ts";
import type { Sql } from "../connection/database.ts";

export interface Credentials {
  /** Prefixes of API keys. */
  prefixes: string[];
  /** Ids of console sessions. */
  sessionIds: string[];
}

/**
 * Returns the given API keys that exist and are not revoked, and the given sessions that are valid.
 */
export async function listValidCredentials(
  sql: Sql,
  { prefixes, sessionIds }: Credentials,
  validity: Validity,
): Promise<Credentials> {
  const rows = await sql<{ prefix: string | null; session_id: string | null }[]>`
    select prefix, null::uuid as session_id from gateway.api_keys
    where prefix = any (${prefixes}) and revoked_at is null
    union all
    select null, session.id from gateway.console_sessions session
    where session.id = any (${sessionIds}::uuid[]) and ${isValid(sql, validity)}`;
  return {
    prefixes: rows.flatMap(({ prefix }) => prefix ?? []),
    sessionIds: rows.flatMap(({ session_id }) => session_id ?? []),
  };
}
