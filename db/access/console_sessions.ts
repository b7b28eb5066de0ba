/** Sessions of the console: the model, and the statements that read and write them. */

import type { Sql } from "../connection/database.ts";

export interface ConsoleSession {
  id: string;
  user_id: string;
  /** False: a viewer. */
  is_staff: boolean;
  /** The API key that signed in; null with a JWT. */
  key_prefix: string | null;
  created_at: Date;
  last_used_at: Date;
  expires_at: Date;
}

const COLUMNS = [
  "id",
  "user_id",
  "is_staff",
  "key_prefix",
  "created_at",
  "last_used_at",
  "expires_at",
] satisfies (keyof ConsoleSession)[];

/** What decides whether a session is valid. */
export interface Validity {
  now: Date;
  /** A session that was last used before this time has ended. */
  idleSince: Date;
  /** Development keys are valid in the embedded default only. */
  acceptDevelopmentKeys: boolean;
}

/** Stores a session, and deletes those that have expired. */
export async function insertSession(
  sql: Sql,
  session: ConsoleSession & { token_hash: Uint8Array },
): Promise<void> {
  await sql`
    with expired as (
      delete from gateway.console_sessions where expires_at < ${session.created_at}
    )
    insert into gateway.console_sessions ${sql({ ...session })}`;
}

/** True for a session that has not expired, is not idle, and whose API key is still valid. */
export function isValid(sql: Sql, { now, idleSince, acceptDevelopmentKeys }: Validity) {
  return sql`session.expires_at > ${now} and session.last_used_at > ${idleSince}
    and (session.key_prefix is null or exists (
      select from gateway.api_keys key
      where key.prefix = session.key_prefix and key.revoked_at is null
        and (not key.is_development or ${acceptDevelopmentKeys})))`;
}

/**
 * Finds a valid session by the hash of its token. `isUse`: whether the user caused the request, and
 * not a page that reloads its data. Only then the use is recorded, at most once a minute.
 */
export async function useSession(
  sql: Sql,
  tokenHash: Uint8Array,
  validity: Validity,
  isUse: boolean,
): Promise<ConsoleSession | null> {
  const { now } = validity;
  const [row] = await sql<ConsoleSession[]>`
    with found as (
      select ${sql(COLUMNS)} from gateway.console_sessions session
      where token_hash = ${tokenHash} and ${isValid(sql, validity)}
    ), used as (
      update gateway.console_sessions session set last_used_at = ${now}
      from found
      where ${isUse} and session.id = found.id
        and found.last_used_at < ${now}::timestamptz - interval '1 minute'
    )
    select * from found`;
  return row ?? null;
}

/** The valid sessions, the most recently used first; at most 1,000. */
export async function listSessions(sql: Sql, validity: Validity): Promise<ConsoleSession[]> {
  return await sql<ConsoleSession[]>`
    select ${sql(COLUMNS)} from gateway.console_sessions session
    where ${isValid(sql, validity)}
    order by last_used_at desc, id limit 1000`;
}

export async function deleteSession(sql: Sql, id: string): Promise<void> {
  await sql`delete from gateway.console_sessions where id = ${id}`;
}
