/** The data that accompanies a request through the app. */

import type { Context } from "hono";
import type { Caller } from "../../core/auth/caller.ts";
import type { Log } from "../../core/log.ts";

/** Created for each request before routing; later steps fill in the route and the caller. */
export interface RequestContext {
  requestId: string;
  log: Log;
  /** The TCP connection, if there is one. Reading `remoteAddr` has a cost, so read it on demand. */
  connection: { remoteAddr?: Deno.Addr } | undefined;
  /** The pattern of the matched route, such as `/payments/:pk/`. */
  route: string | null;
  /** Set on every route that requires authentication. */
  caller: Caller | null;
}

export interface AppEnv {
  Bindings: RequestContext;
}

/** The caller of a route that requires authentication. */
export function callerOf(c: Context<AppEnv>): Caller {
  if (c.env.caller) return c.env.caller;
  throw new Error("This route does not authenticate its callers");
}
