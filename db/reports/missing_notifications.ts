/**
 * Finds payments that the service found paid by asking the gateway, because no notification said
 * so. Reads the payments of a short time, and a limited number of each type, so the cost does not
 * depend on the size of the tables.
 */

import type { Sql } from "../connection/database.ts";
import { SELF_TEST_ORDER } from "../payments/notifications.ts";
import { paymentOf } from "../payments/statements.ts";
import { firstColumnIs } from "../records/list_walk.ts";
import { RECOUNT } from "../records/records.ts";

/** How many of the newest paid payments of each type are examined at most. */
const MAX_EXAMINED = 500;

/** Ids are almost in the order of the times, so the last one is among the newest few. */
const MAX_NOTIFICATIONS = 20;

/**
 * No notification has to report these payments: the response to a request made them paid, or staff
 * took them over from a report.
 */
const NOT_NOTIFIED_SOURCES = ["charge", "capture", "approve", "take_over"];

/** Statuses of payments that are not paid, in the history and in notifications. */
const UNPAID_STATUSES = ["pending", "authorize"];

export interface MissingNotifications {
  /** Paid payments of which the gateway had to notify the service. */
  paid: number;
  /** Those of them whose notification did not arrive. */
  missing: number;
  /** When the service found the first of these paid; null: none is missing. */
  since: Date | null;
  /** When the gateway's last notification arrived; null: none of the newest is the gateway's. */
  lastNotification: Date | null;
}

/** `from` (inclusive) and `to` (exclusive): when the payments became paid. */
export async function findMissingNotifications(
  sql: Sql,
  { from, to }: { from: Date; to: Date },
  examined = MAX_EXAMINED,
): Promise<MissingNotifications> {
  // The expression in the index `payment_filters_by_paid_time`.
  const type = sql`payment_type || ''`;
  const [found] = await sql<[MissingNotifications]>`
    with recursive known_type as (
      (select ${type} as name from gateway.payment_filters where paid_at is not null
        order by ${type}, paid_at, payment_id limit 1)
      union all
      select (select ${type} from gateway.payment_filters
        where paid_at is not null and ${type} > known_type.name
        order by ${type}, paid_at, payment_id limit 1)
      from known_type where known_type.name is not null
    ), paid as materialized (
      select newest.* from known_type cross join lateral (
        select payment_id, paid_at from gateway.payment_filters
        where ${firstColumnIs(sql, "payment_type || ''", sql`known_type.name`)}
          and paid_at >= ${from} and paid_at < ${to} and paid_at is not null
        order by ${type} desc, paid_at desc, payment_id desc limit ${examined}
      ) newest
    ), expected as materialized (
      select paid.paid_at, paid_by.source = 'notification' or (
        select id from gateway.notifications
        where ${firstColumnIs(sql, "order_id", sql`payment.order_id`)}
          and transaction_status <> all(${sql.array(UNPAID_STATUSES)})
        order by order_id desc, id desc limit 1
      ) is not null as is_notified
      from paid cross join lateral ${paymentOf(sql, "paid")} cross join lateral (
        -- Not sorted with a limit: PostgreSQL might walk the primary key of the whole table.
        select (array_agg(source order by id))[1] as source from gateway.history
        where resource_id = paid.payment_id and created_at >= paid.paid_at and source <> ${RECOUNT}
          and to_status <> all(${sql.array(UNPAID_STATUSES)})
      ) paid_by
      where paid_by.source <> all(${sql.array(NOT_NOTIFIED_SOURCES)})
    )
    select count(*)::int as paid,
      count(*) filter (where not is_notified)::int as missing,
      min(paid_at) filter (where not is_notified) as since,
      (select max(created_at) from (
        select created_at from gateway.notifications
        where order_id !~ ${SELF_TEST_ORDER.source} order by id desc limit ${MAX_NOTIFICATIONS}
      ) newest) as "lastNotification"
    from expected`;
  return found;
}
