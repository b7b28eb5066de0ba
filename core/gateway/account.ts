/**
 * Makes sure that the server key belongs to the same gateway account as the database. With the key
 * of another account, the gateway finds none of the transactions, and the service would conclude
 * that no charge was made.
 */

import type { Database } from "../../db/connection/database.ts";
import {
  bindMerchant,
  type GatewayAccount,
  listNewestTransactions,
} from "../../db/access/gateway_account.ts";
import { firstIdAt } from "../ids.ts";
import type { Log } from "../telemetry/log.ts";
import {
  GatewayAPIError,
  GatewayError,
  type GatewayOutcome,
  isTransactionNotFound,
} from "./errors.ts";

/**
 * - `unverified`: this process does not know yet to which account the server key belongs;
 * - `same`: the server key belongs to the same account as the database;
 * - `other`: the server key belongs to another account, so no more calls are made.
 */
export type AccountState = "unverified" | "same" | "other";

export interface AccountGuard {
  state(): AccountState;
  /** Compares the merchant id of a response with the stored id, or stores it if none is stored. */
  observe(merchantId: string): Promise<void>;
  /** If the state is not known, finds it out by requesting the newest stored transactions. */
  verify(getStatus: (transactionId: string) => Promise<unknown>): Promise<AccountState>;
}

/** For clients without a database, and for the sandbox, which has no transactions after a reset. */
export const NO_ACCOUNT_GUARD: AccountGuard = {
  state: () => "same",
  observe: () => Promise.resolve(),
  verify: () => Promise.resolve("same"),
};

/** More than one: the gateway may have deleted a single transaction. */
const VERIFIED_TRANSACTIONS = 3;

export function createAccountGuard(
  { database, log }: { database: Database; log: Log },
  account: GatewayAccount,
): AccountGuard {
  let state: AccountState = "unverified";
  let observed: string | null = null;
  let verifying: Promise<AccountState> | null = null;

  function refuse(reason: string) {
    state = "other";
    log.error("other_gateway_account", new Error(reason));
  }

  async function findState(
    getStatus: (transactionId: string) => Promise<unknown>,
  ): Promise<AccountState> {
    const firstId = firstIdAt(account.since);
    const newest = await database.query(
      (sql) => listNewestTransactions(sql, firstId, VERIFIED_TRANSACTIONS),
      "list newest transactions",
    );
    for (const id of newest) {
      try {
        await getStatus(id);
        // The gateway knows the transaction. If the response named another account, the state is
        // `other` by now.
        if (state === "unverified") state = "same";
        return state;
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        if (!isTransactionNotFound(error)) return state;
      }
    }
    if (newest.length > 0) refuse("The gateway knows none of the newest transactions");
    // Without stored transactions, every account fits this database.
    else state = "same";
    return state;
  }

  return {
    state: () => state,
    async observe(merchantId) {
      if (merchantId === observed) return;
      try {
        const bound = await database.query(
          (sql) => bindMerchant(sql, merchantId),
          "bind merchant",
        );
        observed = merchantId;
        if (bound === merchantId && state !== "other") state = "same";
        if (bound !== merchantId) {
          refuse(`The key belongs to merchant ${merchantId}, the database to merchant ${bound}`);
        }
      } catch (error) {
        // The next response is compared again.
        log.error("account_not_compared", error);
      }
    },
    async verify(getStatus) {
      if (state !== "unverified") return state;
      verifying ??= findState(getStatus).finally(() => verifying = null);
      return await verifying;
    },
  };
}

export const OTHER_ACCOUNT =
  "GATEWAY_SERVER_KEY belongs to another gateway account than this database";

export function otherAccountError(outcome: GatewayOutcome): GatewayAPIError {
  const failure = outcome === "unknown" ? "answered" : "unreachable";
  return new GatewayAPIError(OTHER_ACCOUNT, { failure, outcome });
}
