/**
 * Authenticates the caller of a request, applies its rate limit, and keeps viewers from changes.
 */

import type { Context } from "hono";
import type { AddressList } from "../../core/config/address_list.ts";
import type { Authenticate } from "../../core/auth/authenticator.ts";
import { type Caller, refuseViewers } from "../../core/auth/caller.ts";
import { ServiceError } from "../../core/errors.ts";
import type { AppEnv } from "../router.ts";
import { clientAddress, type RateLimit } from "./rate_limit.ts";

export interface RequireCallerOptions {
  authenticate: Authenticate;
  rateLimit: RateLimit;
  trustedProxies: AddressList | null;
}

/**
 * Stores the caller in the request's context, or throws `unauthenticated`, `rate_limited` or
 * `forbidden`. Synchronous if the credential is cached.
 */
export type RequireCaller = (c: Context<AppEnv>) => void | Promise<void>;

export function createRequireCaller(options: RequireCallerOptions): RequireCaller {
  const { authenticate, rateLimit, trustedProxies } = options;

  return (c) => {
    const address = () => `address:${clientAddress(c, trustedProxies)}`;
    /** The address for which the look-up of a key was counted; null: none was counted. */
    let counted: string | null = null;

    function uncount(): void {
      if (counted !== null) rateLimit.uncount(counted);
      counted = null;
    }

    function admit(caller: Caller | null): void {
      if (!caller) {
        // Failed attempts count per address, to slow down guessing.
        if (counted === null) rateLimit.count(address());
        throw new ServiceError("unauthenticated", {
          detail: "Send a valid API key or JWT in the Authorization header: Bearer <credential>.",
          headers: { "WWW-Authenticate": "Bearer" },
        });
      }
      uncount();
      c.env.caller = caller;
      rateLimit.countCaller(caller.userId);
      if (!readsStoredData(c.req.method, c.env.route!)) refuseViewers(caller);
    }

    /** Called before the look-up: wrong keys must not reach the database without a limit. */
    function mayLookUp(): boolean {
      const sender = address();
      if (!rateLimit.tryCount(sender)) return false;
      counted = sender;
      return true;
    }

    const credential = bearerCredential(c.req.header("authorization"));
    const caller = credential === null ? null : authenticate(credential, mayLookUp);
    if (!(caller instanceof Promise)) return admit(caller);
    return caller.then(admit, (error) => {
      uncount();
      throw error;
    });
  };
}

/** False for requests that change something. `check_status` is a GET, but it updates a record. */
export function readsStoredData(method: string, route: string): boolean {
  return (method === "GET" || method === "HEAD") && !route.endsWith("/check_status/");
}

function bearerCredential(header: string | undefined): string | null {
  return header?.match(/^Bearer +([^\s]+)$/i)?.[1] ?? null;
}
