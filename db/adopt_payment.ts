/** Writes a payment that was made outside of the service, as it was first heard of. */

import { type Beside, besides, runWith, type Written } from "./beside_record.ts";
import type { Sql } from "./database.ts";
import { type GatewayPayment, PAYMENT_COLUMNS } from "./payments.ts";
import { Statement } from "./statement.ts";

const COLUMNS = PAYMENT_COLUMNS.join(", ");

/** Nothing is written where its transaction has a payment already: of many who try at once, one does. */
export async function adoptPayment(
  sql: Sql,
  write: Beside & { record: GatewayPayment },
): Promise<Written> {
  const statement = new Statement();
  const parts = [
    `changed as (
      insert into gateway.payments (${COLUMNS})
      select ${COLUMNS} from ${statement.rows("payments", [write.record])}
      on conflict (transaction_id) do nothing
      returning id
    )`,
    ...besides(statement, [write]),
  ];
  const [written] = await runWith(sql, statement, parts, [write]);
  return written!;
}
