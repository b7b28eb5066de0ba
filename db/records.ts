/** What payments, invoices and subscriptions have in common: history, pages of a list, and due checks. */

import { MAX, NIL } from "uuid";
import type { Sql } from "./database.ts";
import { Statement } from "./statement.ts";

/** What can change its state at the gateway. */
export type Resource = "payment" | "invoice" | "subscription";

/** One change of state. */
export interface NewHistory {
  resource: Resource;
  resource_id: string;
  /** Null: it was made. */
  from_status: string | null;
  to_status: string;
  /** Of payments alone. */
  fraud_status: string | null;
  /** Who brought it about. */
  source: string;
  created_at: Date;
}

export interface History extends NewHistory {
  id: number;
}

export async function listHistory(sql: Sql, resourceId: string): Promise<History[]> {
  return await sql<History[]>`
    select id, resource, resource_id, from_status, to_status, fraud_status, source, created_at
    from gateway.history where resource_id = ${resourceId} order by id`;
}

export interface RecordFilter {
  /** Null: everybody's. */
  owner: string | null;
  /** Null: whichever it is. */
  status: string | null;
  /** Only those made before this one. */
  before: string | null;
  limit: number;
}

/**
 * A page of them. Rows are compared as a whole and ordered by all that is compared, so that there is
 * but one index to be used (see `listPayments`).
 */
export function pageOf(
  sql: Sql,
  table: "invoices" | "subscriptions",
  { owner, status, before, limit }: RecordFilter,
) {
  const [ofOwner, theOwner, byOwner] = owner === null
    ? [sql``, sql``, sql``]
    : [sql`user_id,`, sql`${owner}::text,`, sql`user_id desc,`];
  const [ofStatus, theStatus, byStatus] = status === null
    ? [sql``, sql``, sql``]
    : [sql`status,`, sql`${status}::text,`, sql`status desc,`];
  return sql`
    select * from gateway.${sql.unsafe(table)}
    where (${ofOwner} ${ofStatus} id) < (${theOwner} ${theStatus} ${before ?? MAX}::uuid)
      and (${ofOwner} ${ofStatus} id) >= (${theOwner} ${theStatus} ${NIL}::uuid)
    order by ${byOwner} ${byStatus} id desc limit ${limit}`;
}

/** Those whose time for a look comes by itself. */
export type CheckedTable = "payments" | "invoices";

export interface DueCheck {
  id: string;
  user_id: string | null;
  created_at: Date;
  /** Of payments alone: until when it can be paid. */
  expiry_time: Date | null;
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

export type RecordTable = "payments" | "invoices" | "subscriptions";
