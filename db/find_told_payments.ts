/** Finds the payments that notifications are about. */

import type { Sql } from "./database.ts";
import { type GatewayPayment, readPayment, WHOLE_PAYMENT } from "./payments.ts";
import { Statement } from "./statement.ts";
import type { Batched } from "./batched.ts";

export interface Told {
  order_id: string;
  /** Null: it does not say. */
  transaction_id: string | null;
  /** The payment that it says it was charged for; null: none. */
  payment_ref: string | null;
}

/**
 * By the transaction, if that is of the same order; or by the order, where the payment still waits for
 * its first answer, or was given up waiting.
 */
export const paymentLookups: Batched<Told, GatewayPayment | null> = {
  name: "find payment",
  touches: () => [],
  run: findToldPayments,
};

async function findToldPayments(sql: Sql, told: Told[]): Promise<(GatewayPayment | null)[]> {
  const statement = new Statement();
  const json = statement.value(JSON.stringify(told.map((each, number) => ({ ...each, number }))));
  // A row for each, in their order, so that none has to be taken apart.
  const rows = await statement.run<GatewayPayment | Absent>(
    sql,
    `select ${WHOLE_PAYMENT}
    from json_to_recordset(${json}::text::json) as told(
      number integer, order_id text, transaction_id text, payment_ref uuid)
    left join lateral (
      select * from (
        select * from gateway.payments known
        where known.transaction_id = told.transaction_id and known.order_id = told.order_id
        union all
        select * from gateway.payments known
        where known.order_id = told.order_id and known.transaction_id is null and not is_refused
      ) candidate
      order by transaction_id, coalesce(id = told.payment_ref, false) desc, id desc limit 1
    ) payment on true
    order by told.number`,
  );
  return rows.map((row) => row.id === null ? null : readPayment(row));
}

/** There is none: all its columns are null. */
interface Absent {
  id: null;
}
