/** Sessions of the console: a credential is exchanged for a token, which a cookie carries. */

import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import {
  type ConsoleSession,
  deleteSession,
  insertSession,
  listSessions,
  useSession,
  type Validity,
} from "../../db/access/console_sessions.ts";
import { ServiceError } from "../errors.ts";
import { newId } from "../ids.ts";
import type { Service } from "../service.ts";
import { type Caller, canReadAll, requireReadAll, requireStaff } from "./caller.ts";

/** A session ends at most this long after the sign-in; earlier if its JWT expires. */
const MAX_MS = 12 * 3_600_000;

/** A session ends if it is not used for this long. */
const IDLE_MS = 30 * 60_000;

export type { ConsoleSession };

export interface OpenSession {
  id: string;
  caller: Caller;
  /** Every form must contain it. Other sites do not know it, so they cannot forge a form. */
  formToken: string;
  expiresAt: Date;
}

/** Returns the token of the new session. Only its hash is stored. */
export async function signIn(
  { database, clock }: Service,
  caller: Caller,
): Promise<{ token: string; expiresAt: Date }> {
  if (!canReadAll(caller)) {
    throw new ServiceError("forbidden", {
      detail: "The console is for staff and viewers. Sign in with a staff or viewer credential.",
    });
  }
  const now = new Date(clock());
  const token = randomBytes(32).toString("base64url");
  const expiresAt = new Date(Math.min(clock() + MAX_MS, caller.expiresAt ?? Infinity));
  await database.query((sql) =>
    insertSession(sql, {
      id: newId(now),
      token_hash: hashToken(token),
      user_id: caller.userId,
      is_staff: caller.isStaff,
      key_prefix: caller.keyPrefix,
      created_at: now,
      last_used_at: now,
      expires_at: expiresAt,
    }), "sign in");
  return { token, expiresAt };
}

/**
 * Null: no session has this token, or the session has ended. `isUse`: whether the user did
 * something; a page that updates itself must not keep the session of an absent user alive.
 */
export async function findSession(
  service: Service,
  token: string,
  { isUse }: { isUse: boolean },
): Promise<OpenSession | null> {
  const session = await service.database.query(
    (sql) => useSession(sql, hashToken(token), validityOf(service), isUse),
    "find session",
  );
  return session && {
    id: session.id,
    caller: callerOf(session),
    formToken: formTokenOf(token),
    expiresAt: session.expires_at,
  };
}

export async function signOut({ database }: Service, { id }: OpenSession): Promise<void> {
  await database.query((sql) => deleteSession(sql, id), "sign out");
}

export async function listOpenSessions(
  service: Service,
  caller: Caller,
): Promise<ConsoleSession[]> {
  requireReadAll(caller);
  return await service.database.query(
    (sql) => listSessions(sql, validityOf(service)),
    "list sessions",
  );
}

/** Ends a session of any user. Does nothing if it has ended. */
export async function endSession(
  { database }: Service,
  caller: Caller,
  id: string,
): Promise<void> {
  requireStaff(caller);
  await database.query((sql) => deleteSession(sql, id), "end session");
}

/** Compares in constant time. */
export function isSameToken(sent: string, expected: string): boolean {
  const [a, b] = [sent, expected].map((text) => createHash("sha256").update(text).digest());
  return timingSafeEqual(a!, b!);
}

export function validityOf(
  { clock, acceptDevelopmentKeys }: Pick<Service, "clock" | "acceptDevelopmentKeys">,
): Validity {
  const now = clock();
  return { now: new Date(now), idleSince: new Date(now - IDLE_MS), acceptDevelopmentKeys };
}

function callerOf({ id, user_id, is_staff, key_prefix, expires_at }: ConsoleSession): Caller {
  return {
    userId: user_id,
    isStaff: is_staff,
    isViewer: !is_staff,
    credential: key_prefix === null ? "jwt" : "api_key",
    keyPrefix: key_prefix,
    expiresAt: expires_at.getTime(),
    sessionId: id,
  };
}

function hashToken(token: string): Uint8Array {
  return createHash("sha256").update(token).digest();
}

/** Derived from the token, so that it needs no storage and ends with the session. */
function formTokenOf(token: string): string {
  return createHmac("sha256", token).update("form").digest("base64url");
}
