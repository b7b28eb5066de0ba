/** The charges of subscriptions that were told of. They are written together with the subscription. */

import type { Sql } from "./database.ts";

export interface SubscriptionCharge {
  transaction_id: string;
  subscription_id: string;
  payment_id: string;
  created_at: Date;
}

/** Those of the gateway's transactions that nobody was told of yet, in the same order. */
export async function listUntold(sql: Sql, transactionIds: string[]): Promise<string[]> {
  const told = await sql<{ transaction_id: string }[]>`
    select transaction_id from gateway.subscription_charges
    where transaction_id = any(${sql.array(transactionIds)}::text[])`;
  const known = new Set(told.map(({ transaction_id }) => transaction_id));
  return transactionIds.filter((id) => !known.has(id));
}
