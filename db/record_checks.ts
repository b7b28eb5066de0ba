/** Which payments are to be looked at, and when. */

import type { Sql } from "./database.ts";
import type { GatewayPayment } from "./payments.ts";
import { Statement } from "./statement.ts";

export type DueCheck = Pick<GatewayPayment, "id" | "user_id" | "created_at">;

/** Payments whose time for a look has come, the most overdue first. */
export async function listDueChecks(sql: Sql, now: Date, limit: number): Promise<DueCheck[]> {
  return await sql<DueCheck[]>`
    select id, user_id, created_at from gateway.payments
    where check_at <= ${now} order by check_at limit ${limit}`;
}

/** The next look at each that is due; by itself no change of a payment, so its version stays. */
export async function postponeChecks(
  sql: Sql,
  now: Date,
  checks: { id: string; check_at: Date }[],
): Promise<void> {
  const statement = new Statement();
  await statement.run(
    sql,
    `update gateway.payments payment set check_at = next.check_at
    from ${statement.rows("payments", checks)} next
    where payment.id = next.id and payment.check_at <= ${statement.value(now)}`,
  );
}
