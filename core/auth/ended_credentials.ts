/**
 * Finds the callers whose API key was revoked, whose JWT has expired or whose console session has
 * ended. For work that goes on after its request was admitted: event streams and exports.
 */

import { listValidCredentials } from "../../db/access/credentials.ts";
import type { Service } from "../service.ts";
import type { Caller } from "./caller.ts";
import { validityOf } from "./console_sessions.ts";

export type EndReason =
  | "its API key was revoked"
  | "its session has ended"
  | "its token has expired";

/** Whether the JWT or the console session of the caller has expired. */
export function hasExpired({ expiresAt = Infinity }: Caller, now: number): boolean {
  return now >= expiresAt;
}

/**
 * Makes one query for all callers, and none if there is nothing to look up: a JWT cannot be
 * revoked, and ends only when it expires. `name`: the name of the query.
 */
export async function findEnded(
  { database, clock }: Pick<Service, "database" | "clock">,
  callers: readonly Caller[],
  name: string,
): Promise<Map<Caller, EndReason>> {
  const sessionIds = [...new Set(callers.flatMap(({ sessionId }) => sessionId ?? []))];
  const prefixes = [...new Set(callers.flatMap(({ keyPrefix }) => keyPrefix ?? []))];
  // This instance has accepted the credential before, so it accepts development keys if it is one.
  const validity = validityOf({ clock, acceptDevelopmentKeys: true });
  const valid = sessionIds.length === 0 && prefixes.length === 0
    ? { prefixes, sessionIds }
    : await database.query(
      (sql) => listValidCredentials(sql, { prefixes, sessionIds }, validity),
      name,
    );
  const now = clock();
  return new Map(callers.flatMap((caller): [Caller, EndReason][] => {
    const { keyPrefix, sessionId } = caller;
    if (keyPrefix !== null && !valid.prefixes.includes(keyPrefix)) {
      return [[caller, "its API key was revoked"]];
    }
    if (sessionId !== undefined && !valid.sessionIds.includes(sessionId)) {
      return [[caller, "its session has ended"]];
    }
    return hasExpired(caller, now) ? [[caller, "its token has expired"]] : [];
  }));
}
