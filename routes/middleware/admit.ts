/** Lets nobody in but callers with a credential that holds, each within its limit. */

import type { Context } from "hono";
import type { AddressList } from "../../core/address_list.ts";
import type { Authenticate } from "../../core/auth/authenticator.ts";
import type { Caller } from "../../core/auth/caller.ts";
import { ServiceError } from "../../core/errors.ts";
import type { AppEnv } from "../shared/request_context.ts";
import { clientAddress } from "./client_address.ts";
import type { Limit } from "./limit.ts";

export interface AdmitDeps {
  authenticate: Authenticate;
  limit: Limit;
  trustedProxies: AddressList | null;
}

/** Notes the caller in the request's context, or throws; at once where the caller is known. */
export type Admit = (c: Context<AppEnv>) => void | Promise<void>;

export function createAdmit(deps: AdmitDeps): Admit {
  const { authenticate, limit, trustedProxies } = deps;

  function admit(c: Context<AppEnv>, caller: Caller | null): void {
    if (!caller) {
      // Who cannot say who they are is limited by address, so that guessing stays slow.
      limit(`address:${clientAddress(c, trustedProxies)}`);
      throw new ServiceError("unauthenticated", { headers: { "WWW-Authenticate": "Bearer" } });
    }
    c.env.caller = caller;
    limit(`user:${caller.userId}`);
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
