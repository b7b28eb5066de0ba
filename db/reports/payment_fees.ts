/** The gateway's fees of payments, from the reports that were compared. */

import type { Sql } from "../connection/database.ts";

export interface PaymentFee {
  payment_id: string;
  /** What the fee is for: a settlement, a refund or a chargeback. */
  item: string;
  fee_cents: number;
}

/**
 * Stores fees, sorted by their keys so that two reports cannot deadlock. A known fee stays, unless
 * it is zero: a card payment can be listed as captured without a fee, and as settled with it.
 * Returns the payments whose fees have changed.
 */
export async function insertFees(sql: Sql, fees: readonly PaymentFee[]): Promise<string[]> {
  const rows = await sql<{ payment_id: string }[]>`
    insert into gateway.payment_fees as known
    select * from json_populate_recordset(
      null::gateway.payment_fees, ${JSON.stringify(fees)}::text::json)
    on conflict (payment_id, item) do update set fee_cents = excluded.fee_cents
      where known.fee_cents = 0 and excluded.fee_cents <> 0
    returning payment_id`;
  return [...new Set(rows.map(({ payment_id }) => payment_id))];
}
