/** `deno task account`: shows or changes the gateway account that the database belongs to. */

import type { Config } from "../core/config/config.ts";
import {
  type AccountGuard,
  createAccountGuard,
  NO_ACCOUNT_GUARD,
  OTHER_ACCOUNT,
} from "../core/gateway/account.ts";
import type { GatewayClient } from "../core/gateway/client.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { Database } from "../db/connection/database.ts";
import { bindEnvironment, changeAccount, findAccount } from "../db/access/gateway_account.ts";
import { openCommandDatabase } from "./migrate.ts";
import { Failure } from "./terminal.ts";

const USAGE = `Usage:
  account          show the gateway account that the database belongs to
  account change   bind the database to the account in the settings`;

const WHAT_TO_DO =
  `Use the settings of the account and environment that this database belongs to, or use
another database. If this database should belong to the account in the settings from now on, run:
deno task account change`;

export async function run(readConfig: () => Config, args: string[]): Promise<void> {
  const [verb, ...more] = args;
  if ((verb !== undefined && verb !== "change") || more.length > 0) throw new Failure(USAGE);
  const config = readConfig();
  await using opened = await openCommandDatabase(config);
  if (verb === "change") await change(opened.database, config);
  await show(opened.database);
}

async function change(database: Database, { gateway: { environment } }: Config): Promise<void> {
  await database.query((sql) => changeAccount(sql, environment));
}

async function show(database: Database): Promise<void> {
  const account = await database.query(findAccount);
  console.log(`Environment  ${account?.environment ?? "not set until the service starts"}`);
  const unknownMerchant = account?.environment === "embedded"
    ? "none, because the sandbox is not checked"
    : "not set until the gateway's next response";
  console.log(`Merchant     ${account?.merchant_id ?? unknownMerchant}`);
}

/**
 * Binds the database to the environment in the settings, if it is not bound yet. Throws a `Failure`
 * if it belongs to another environment.
 */
export async function openAccountGuard(
  database: Database,
  config: Config,
  log: Log,
): Promise<AccountGuard> {
  const { environment } = config.gateway;
  const account = await database.query((sql) => bindEnvironment(sql, environment));
  if (account.environment !== environment) {
    throw new Failure(
      `This database belongs to the gateway's environment "${account.environment}", but the ` +
        `settings are for "${environment}".\n${WHAT_TO_DO}`,
    );
  }
  // No check for the embedded sandbox: it has no real payments, and developers reset it.
  return environment === "embedded"
    ? NO_ACCOUNT_GUARD
    : createAccountGuard({ database, log }, account);
}

/** Throws a `Failure` if the gateway shows that the settings are those of another account. */
export async function requireSameAccount(gateway: GatewayClient, log: Log): Promise<void> {
  const state = await gateway.verifyAccount();
  if (state === "other") throw new Failure(`${OTHER_ACCOUNT}.\n${WHAT_TO_DO}`);
  // The gateway is down or returned an error. The account is verified before the first write.
  if (state === "unverified") log.info("account_unverified");
}
