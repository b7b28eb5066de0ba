/** What travels with a request through the app. */

import type { Context } from "hono";
import type { Caller } from "../../core/auth/caller.ts";
import type { Log } from "../../core/log.ts";

/** Made at the door for each request, and filled in on the way. */
export interface RequestContext {
  requestId: string;
  log: Log;
  /** Knows the other end of the connection, where there is one; asking it is not free. */
  connection: { remoteAddr?: Deno.Addr } | undefined;
  /** The pattern of the route that took the request, such as `/payments/:pk/`. */
  route: string | null;
  /** Known on every route but the open ones. */
  caller: Caller | null;
}

export interface AppEnv {
  Bindings: RequestContext;
}

/** The caller of a route that is not open. */
export function callerOf(c: Context<AppEnv>): Caller {
  if (c.env.caller) return c.env.caller;
  throw new Error("An open route has no caller");
}

/** The prefix that everything is mounted under, told by where the route of this path was found. */
export function basePathOf(c: Context<AppEnv>, path: string): string {
  return c.env.route?.slice(0, -path.length) ?? "";
}
