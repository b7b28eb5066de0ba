/** Writes a payment that was made outside of the service, as it was first heard of. */

import {
  type Changing,
  type SideEffects,
  type WriteResult,
  writeWithSideEffects,
} from "./side_effects.ts";
import type { Sql } from "./database.ts";
import { type GatewayPayment, PAYMENT_COLUMNS } from "./payments.ts";

const COLUMNS = PAYMENT_COLUMNS.join(", ");

/** Nothing is written where its transaction has a payment already: of many who try at once, one does. */
export async function adoptPayment(
  sql: Sql,
  write: SideEffects & { record: GatewayPayment },
): Promise<WriteResult> {
  const adopting: Changing = (statement, unless) => [
    `changed as (
      insert into gateway.payments (${COLUMNS})
      select ${COLUMNS} from ${statement.rows("payments", [write.record])}
      where true ${unless}
      on conflict (transaction_id) do nothing
      returning id
    )`,
  ];
  const [written] = await writeWithSideEffects(sql, adopting, [write]);
  return written!;
}
