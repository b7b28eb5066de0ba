/** Authenticates the caller of a request, and applies the caller's rate limit. */

import type { Context } from "hono";
import type { AddressList } from "../../core/address_list.ts";
import type { Authenticate } from "../../core/auth/authenticator.ts";
import type { Caller } from "../../core/auth/caller.ts";
import { ServiceError } from "../../core/errors.ts";
import type { AppEnv } from "../shared/router.ts";
import { clientAddress, type RateLimit } from "./rate_limit.ts";

export interface RequireCallerDeps {
  authenticate: Authenticate;
  rateLimit: RateLimit;
  trustedProxies: AddressList | null;
}

/**
 * Stores the caller in the request's context, or throws `unauthenticated` or `rate_limited`.
 * Synchronous if the credential is cached.
 */
export type RequireCaller = (c: Context<AppEnv>) => void | Promise<void>;

export function createRequireCaller(deps: RequireCallerDeps): RequireCaller {
  const { authenticate, rateLimit, trustedProxies } = deps;

  function admit(c: Context<AppEnv>, caller: Caller | null): void {
    if (!caller) {
      // Failed attempts count per address, to slow down guessing.
      rateLimit(`address:${clientAddress(c, trustedProxies)}`);
      throw new ServiceError("unauthenticated", {
        detail: "Send a valid API key or JWT in the Authorization header: Bearer <credential>.",
        headers: { "WWW-Authenticate": "Bearer" },
      });
    }
    c.env.caller = caller;
    rateLimit(`user:${caller.userId}`);
  }

  return (c) => {
    const credential = bearerCredential(c.req.header("authorization"));
    const caller = credential === null ? null : authenticate(credential);
    return caller instanceof Promise ? caller.then((caller) => admit(c, caller)) : admit(c, caller);
  };
}

function bearerCredential(header: string | undefined): string | null {
  return header?.match(/^Bearer +([^\s]+)$/i)?.[1] ?? null;
}
