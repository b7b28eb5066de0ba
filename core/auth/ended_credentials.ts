/**
 * Finds the callers whose API key was revoked or whose console session has ended. For work that goes
 * on after its request was admitted: event streams and exports.
 */

import { listValidCredentials } from "../../db/credentials.ts";
import type { Database } from "../../db/database.ts";
import type { Clock } from "../clock.ts";
import type { Caller } from "./caller.ts";
import { validityOf } from "./console_sessions.ts";

export interface CredentialDeps {
  database: Database;
  clock: Clock;
}

export type EndReason = "its API key was revoked" | "its session has ended";

/**
 * Makes one query for all callers, and none if there is nothing to look up. A JWT cannot be revoked,
 * so it never counts as ended here. `name`: the name of the query.
 */
export async function findEnded(
  { database, clock }: CredentialDeps,
  callers: readonly Caller[],
  name: string,
): Promise<Map<Caller, EndReason>> {
  const sessionIds = [...new Set(callers.flatMap(({ sessionId }) => sessionId ?? []))];
  const prefixes = [...new Set(callers.flatMap(({ keyPrefix }) => keyPrefix ?? []))];
  if (sessionIds.length === 0 && prefixes.length === 0) return new Map();
  // This instance has accepted the credential before, so it accepts development keys if it is one.
  const validity = validityOf({ clock, acceptDevelopmentKeys: true });
  const valid = await database.query(
    (sql) => listValidCredentials(sql, { prefixes, sessionIds }, validity),
    name,
  );
  return new Map(callers.flatMap((caller): [Caller, EndReason][] => {
    const { keyPrefix, sessionId } = caller;
    if (keyPrefix !== null && !valid.prefixes.includes(keyPrefix)) {
      return [[caller, "its API key was revoked"]];
    }
    const hasEnded = sessionId !== undefined && !valid.sessionIds.includes(sessionId);
    return hasEnded ? [[caller, "its session has ended"]] : [];
  }));
}
