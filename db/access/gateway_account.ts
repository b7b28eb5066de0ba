/** The gateway account that this database belongs to. */

import type { Sql } from "../connection/database.ts";

export interface GatewayAccount {
  environment: string;
  /** Null until the gateway has named it in a response. */
  merchant_id: string | null;
  /** Payments that were created earlier belong to another account. */
  since: Date;
}

/** Null: no service has started on this database yet. */
export async function findAccount(sql: Sql): Promise<GatewayAccount | null> {
  const [account] = await sql<[GatewayAccount?]>`
    select environment, merchant_id, since from gateway.gateway_account`;
  return account ?? null;
}

/** Stores the environment if none is stored yet, and returns the account. */
export async function bindEnvironment(sql: Sql, environment: string): Promise<GatewayAccount> {
  // If the database has no account yet, all its payments belong to the new one.
  await sql`
    insert into gateway.gateway_account (environment, since) values (${environment}, 'epoch')
    on conflict do nothing`;
  return (await findAccount(sql))!;
}

/** Stores the merchant id if none is stored yet, and returns the stored one. */
export async function bindMerchant(sql: Sql, merchantId: string): Promise<string | null> {
  await sql`
    update gateway.gateway_account set merchant_id = ${merchantId} where merchant_id is null`;
  return (await findAccount(sql))?.merchant_id ?? null;
}

/** Binds the database to another account, whose merchant id the next response names. */
export async function changeAccount(sql: Sql, environment: string): Promise<void> {
  await sql`
    insert into gateway.gateway_account (environment, since) values (${environment}, now())
    on conflict (is_only_row) do update
      set environment = excluded.environment, merchant_id = null, since = excluded.since`;
}

/** The transaction ids of the newest payments with an id of at least `firstId`, newest first. */
export async function listNewestTransactions(
  sql: Sql,
  firstId: string,
  limit: number,
): Promise<string[]> {
  const rows = await sql<{ transaction_id: string }[]>`
    select transaction_id from gateway.payments
    where id >= ${firstId} and transaction_id is not null
    order by id desc limit ${limit}`;
  return rows.map(({ transaction_id }) => transaction_id);
}
