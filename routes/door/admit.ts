/** Lets nobody in but callers with a credential that holds, each within its limit. */

import type { Context } from "hono";
import type { AddressList } from "../../core/address_list.ts";
import type { Authenticate } from "../../core/auth/authenticator.ts";
import type { Caller } from "../../core/auth/caller.ts";
import type { Config } from "../../core/config.ts";
import { ServiceError } from "../../core/errors.ts";
import type { TokenBuckets } from "../../core/token_bucket.ts";
import type { AppEnv } from "../app_env.ts";
import { clientAddress } from "./client_address.ts";

export interface AdmitDeps {
  authenticate: Authenticate;
  buckets: TokenBuckets;
  rateLimit: Config["rateLimit"];
  trustedProxies: AddressList | null;
}

/** Notes the caller in the request's context, or throws; at once where the caller is known. */
export type Admit = (c: Context<AppEnv>) => void | Promise<void>;

export function createAdmit(deps: AdmitDeps): Admit {
  const { authenticate, buckets, rateLimit, trustedProxies } = deps;

  function admit(c: Context<AppEnv>, caller: Caller | null): void {
    if (!caller) {
      // Who cannot say who they are is limited by address, so that guessing stays slow.
      limit(`address:${clientAddress(c, trustedProxies)}`);
      throw new ServiceError("unauthenticated", { headers: { "WWW-Authenticate": "Bearer" } });
    }
    c.env.caller = caller;
    limit(`user:${caller.userId}`);
  }

  function limit(key: string): void {
    const seconds = buckets.take(key);
    if (seconds === 0) return;
    const window = Math.ceil(rateLimit.burst / rateLimit.perSecond);
    throw new ServiceError("rate_limited", {
      detail: `Try again in ${seconds} s.`,
      headers: {
        "Retry-After": String(seconds),
        "RateLimit": `"caller";r=0;t=${seconds}`,
        "RateLimit-Policy": `"caller";q=${rateLimit.burst};w=${window}`,
      },
    });
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
