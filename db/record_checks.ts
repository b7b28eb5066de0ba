/** Which records are to be looked at, and when. */

import type { Sql } from "./database.ts";
import { Statement } from "./statement.ts";

/** Those whose time for a look comes by itself. */
export type CheckedTable = "payments" | "invoices";

export interface DueCheck {
  id: string;
  user_id: string | null;
  created_at: Date;
  /** Of payments alone: until when it can be paid. */
  expiry_time: Date | null;
}

/** Somebody looks at a subscription now; by itself no change of it, so its version stays. */
export async function noteLook(sql: Sql, id: string, now: Date): Promise<void> {
  await sql`update gateway.subscriptions set checked_at = ${now} where id = ${id}`;
}

/**
 * Takes the right to look at a subscription now, where nobody did for so long; else tells when it was
 * looked at last. Of many who try at once, one gets it.
 */
export async function claimLook(
  sql: Sql,
  id: string,
  now: Date,
  since: Date,
): Promise<{ isClaimed: boolean; checked_at: Date | null }> {
  const [row] = await sql<[{ isClaimed: boolean; checked_at: Date | null }]>`
    with claimed as (
      update gateway.subscriptions set checked_at = ${now}
      where id = ${id} and (checked_at is null or checked_at <= ${since} or checked_at > ${now})
      returning id
    )
    select exists (select from claimed) as "isClaimed", checked_at
    from gateway.subscriptions where id = ${id}`;
  return row;
}

/** Those whose time for a look has come, the most overdue first. */
export async function listDueInvoices(sql: Sql, now: Date, limit: number): Promise<DueCheck[]> {
  return await sql<DueCheck[]>`
    select id, user_id, created_at, null as expiry_time from gateway.invoices
    where check_at <= ${now} order by check_at limit ${limit}`;
}

export interface DuePayments {
  now: Date;
  /** What waits for its customer and could be paid until then, or not even as long, is stale. */
  staleSince: Date;
  limit: number;
}

/** As above; without those that are stale, unless they are due since `leftSince`, or even longer. */
export async function listDuePayments(
  sql: Sql,
  { now, staleSince, leftSince, limit }: DuePayments & { leftSince: Date },
): Promise<DueCheck[]> {
  return await sql<DueCheck[]>`
    select id, user_id, created_at, expiry_time from gateway.payments
    where check_at <= ${now}
      and (check_at <= ${leftSince} or transaction_status <> 'pending' or expiry_time is null
        or expiry_time > ${staleSince})
    order by check_at limit ${limit}`;
}

/** Those that are stale, and due: whoever waits is due when that is over, so no other index is needed. */
export async function listStalePayments(
  sql: Sql,
  { now, staleSince, limit }: DuePayments,
): Promise<DueCheck[]> {
  return await sql<DueCheck[]>`
    select id, user_id, created_at, expiry_time from gateway.payments
    where check_at <= ${now} and transaction_status = 'pending' and expiry_time <= ${staleSince}
    order by check_at limit ${limit}`;
}

/** The next look at each that is due; by itself no change of a record, so its version stays. */
export async function postponeChecks(
  sql: Sql,
  table: CheckedTable,
  now: Date,
  checks: { id: string; check_at: Date }[],
): Promise<void> {
  const statement = new Statement();
  // Locked in the order of their ids, as by whoever changes several at once.
  const inOrder = checks.toSorted((a, b) => a.id < b.id ? -1 : 1);
  await statement.run(
    sql,
    `update gateway.${table} record set check_at = next.check_at
    from ${statement.rows(table, inOrder)} next
    where record.id = next.id and record.check_at <= ${statement.value(now)}`,
  );
}
