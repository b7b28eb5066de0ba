/** Operations on the wallet accounts that customers link; none of them takes an idempotency key. */

import { PayAccount } from "../answers.ts";
import type { Ask, CallOptions } from "../ask.ts";
import { get, path, post } from "../draft.ts";

export function payAccountOperations(ask: Ask) {
  return {
    async createPayAccount(payload: object, options?: CallOptions) {
      return await ask(PayAccount, post("/v2/pay/account", payload), options);
    },
    async getPayAccount(accountId: string, options?: CallOptions) {
      return await ask(PayAccount, get(path`/v2/pay/account/${accountId}`), options);
    },
    async unbindPayAccount(accountId: string, options?: CallOptions) {
      return await ask(PayAccount, post(path`/v2/pay/account/${accountId}/unbind`), options);
    },
  };
}
