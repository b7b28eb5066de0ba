/** Many payments, for exports of several pages. */

import { newId } from "../../../core/ids.ts";
import type { TestApp } from "../app.ts";

/** Inserts pending payments of a user, oldest first; returns their ids, newest first. */
export async function insertPayments(
  { database }: TestApp,
  count: number,
  userId = "alice",
  orderPrefix = "o",
) {
  const now = new Date();
  const ids = Array.from({ length: count }, () => newId(now));
  await database.query((sql) =>
    sql`
      insert into gateway.payments (id, user_id, order_id, payment_type, gross_amount, currency,
        transaction_status, sent_at, created_at, updated_at)
      select id, ${userId}, ${orderPrefix}::text || '-' || number, 'gopay', 10000 + number, 'IDR',
        'pending', now(), now(), now()
      from unnest(${sql.array(ids)}::uuid[]) with ordinality wanted (id, number)`
  );
  return ids.toReversed();
}
