/** What payments, invoices, subscriptions and checkouts have in common: history and due checks. */

import { fixed, type RowOf } from "./columns.ts";
import type { Sql } from "../connection/database.ts";
import { Statement } from "./statement.ts";

/** A record that has a state at the gateway. */
export type Resource = "payment" | "invoice" | "subscription" | "checkout";

export type RecordTable = "payments" | "invoices" | "subscriptions" | "checkouts";

/** One transition of a record. The table has a generated id as well, which orders the entries. */
export const HISTORY_COLUMNS = {
  resource: fixed<Resource>(),
  resource_id: fixed<string>(),
  /** Null: the record was created. */
  from_status: fixed<string | null>(),
  to_status: fixed<string>(),
  /** Only payments have one. */
  fraud_status: fixed<string | null>(),
  /** What caused the transition. */
  source: fixed<string>(),
  /**
   * Who caused it: `api_key:<prefix>`, `jwt:<subject>`, `task:<name>`, `notification:<id>`, or
   * `notification` if the id is not known. Null: it is not a transition.
   */
  actor: fixed<string | null>(),
  created_at: fixed<Date>(),
};

/**
 * The source of an entry that is not a transition. It only makes `update_stats` count the payment
 * again, so timelines leave it out.
 */
export const RECOUNT = "recount";

export interface NewHistory extends RowOf<typeof HISTORY_COLUMNS> {}

export interface History extends NewHistory {
  id: number;
}

/** Oldest first. */
export async function listHistory(sql: Sql, resourceId: string): Promise<History[]> {
  return await sql<History[]>`
    select id, resource, resource_id, from_status, to_status, fraud_status, source, actor,
      created_at
    from gateway.history where resource_id = ${resourceId} order by id`;
}

/** The user whose records a query is restricted to; null: no restriction. */
export type OwnerFilter = string | null;

/** Tables whose due records are found by `check_at`. Subscriptions are found by `checked_at`. */
export type CheckedTable = "payments" | "invoices" | "checkouts";

/** A record that is due for a check at the gateway. */
export interface DueCheck {
  id: string;
  user_id: string | null;
  created_at: Date;
  /** Only payments have one: when they can no longer be paid. */
  expiry_time: Date | null;
}

/** Schedules the next check of records that are due, without incrementing their version. */
export async function postponeChecks(
  sql: Sql,
  table: CheckedTable,
  now: Date,
  checks: { id: string; check_at: Date }[],
): Promise<void> {
  const statement = new Statement();
  // In the order in which every other statement locks several rows, to avoid deadlocks.
  const sorted = checks.toSorted((a, b) => a.id < b.id ? -1 : 1);
  await statement.run(
    sql,
    `update gateway.${table} record set check_at = next.check_at
    from ${statement.rows(table, sorted)} next
    where record.id = next.id and record.check_at <= ${statement.value(now)}`,
  );
}

/** Makes a record due for a check at this time, if it is not due earlier. */
export async function scheduleCheck(
  sql: Sql,
  table: CheckedTable,
  id: string,
  at: Date,
): Promise<void> {
  await sql`
    update gateway.${sql.unsafe(table)} set check_at = ${at}
    where id = ${id} and (check_at is null or check_at > ${at})`;
}

/** Makes all records due for a check that can still change. Returns how many, by table. */
export async function makeChecksDue(sql: Sql): Promise<Record<string, number>> {
  const payments = await sql`
    update gateway.payments payment set check_at = now()
    from gateway.payment_filters due where due.payment_id = payment.id and due.check_at > now()`;
  const invoices = await sql`update gateway.invoices set check_at = now() where check_at > now()`;
  const checkouts = await sql`update gateway.checkouts set check_at = now() where check_at > now()`;
  const subscriptions = await sql`
    update gateway.subscriptions set checked_at = null where check_at is not null`;
  return {
    payments: payments.count,
    invoices: invoices.count,
    checkouts: checkouts.count,
    subscriptions: subscriptions.count,
  };
}
