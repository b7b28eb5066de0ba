/** Which records are to be looked at, and when. */

import type { Sql } from "./database.ts";
import { Statement } from "./statement.ts";

/** Those whose time for a look comes by itself. */
export type CheckedTable = "payments" | "invoices";

export interface DueCheck {
  id: string;
  user_id: string | null;
  created_at: Date;
}

/** Those whose time for a look has come, the most overdue first. */
export async function listDueChecks(
  sql: Sql,
  table: CheckedTable,
  now: Date,
  limit: number,
): Promise<DueCheck[]> {
  return await sql<DueCheck[]>`
    select id, user_id, created_at from gateway.${sql.unsafe(table)}
    where check_at <= ${now} order by check_at limit ${limit}`;
}

/** The next look at each that is due; by itself no change of a record, so its version stays. */
export async function postponeChecks(
  sql: Sql,
  table: CheckedTable,
  now: Date,
  checks: { id: string; check_at: Date }[],
): Promise<void> {
  const statement = new Statement();
  await statement.run(
    sql,
    `update gateway.${table} record set check_at = next.check_at
    from ${statement.rows(table, checks)} next
    where record.id = next.id and record.check_at <= ${statement.value(now)}`,
  );
}
