/**
 * Counts what needs the attention of staff. Except for webhook endpoints, each count reads a
 * limited number of rows of an index, so the cost depends neither on the size of the tables nor on
 * how much needs attention.
 */

import { checkoutsWithAlert } from "../billing/checkouts.ts";
import type { Sql } from "../connection/database.ts";
import { ownerlessPayments, unansweredPayments } from "../payments/lists.ts";
import { unansweredRefunds } from "../payments/refunds.ts";
import { IS_FAILING } from "../webhooks/endpoints.ts";

/** The console shows higher counts as "100 or more", so most counts stop at one above this. */
export const MAX_ATTENTION = 100;

/** How many of the newest challenged payments, and of the oldest pending refunds, are examined. */
const MAX_EXAMINED = 500;

export interface AttentionCounts {
  /** Challenged card payments that can still be approved or denied. */
  challenged: number;
  unansweredPayments: number;
  /** Paid payments without an owner. */
  ownerlessPayments: number;
  checkoutsPaidTwice: number;
  /** Checkouts that were paid after they had expired or were cancelled. */
  checkoutsPaidLate: number;
  /** Refunds whose outcome is not known. */
  pendingRefunds: number;
  failedNotifications: number;
  failedJobs: number;
  failingEndpoints: number;
}

/**
 * `createdBefore`: unanswered payments count only if they were created before this time.
 * `paidSince`: payments without an owner, and checkouts that were paid twice or late, count only if
 * they were paid since this time.
 */
export async function countAttention(
  sql: Sql,
  { createdBefore, paidSince }: { createdBefore: Date; paidSince: Date },
  examined?: number,
): Promise<AttentionCounts> {
  const limit = MAX_ATTENTION + 1;
  const [counts] = await sql<[AttentionCounts]>`
    select (
      select count(*)::int from (
        select transaction_status from gateway.payment_filters
        where (fraud_alert, payment_id) >= ('challenge', '00000000-0000-0000-0000-000000000000')
          and (fraud_alert, payment_id) <= ('challenge', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
          and fraud_alert is not null
        order by fraud_alert desc, payment_id desc limit ${examined ?? MAX_EXAMINED}
      ) payment where transaction_status in ('capture', 'authorize')
    ) as challenged,
    (
      select count(*)::int from (${unansweredPayments(sql, createdBefore)} limit ${limit}) payment
    ) as "unansweredPayments",
    (
      select count(*)::int from (${ownerlessPayments(sql, paidSince)} limit ${limit}) payment
    ) as "ownerlessPayments",
    (
      select count(*)::int from (
        ${checkoutsWithAlert(sql, "paid_twice", paidSince, examined)} limit ${limit}
      ) checkout
    ) as "checkoutsPaidTwice",
    (
      select count(*)::int from (
        ${checkoutsWithAlert(sql, "paid_late", paidSince, examined)} limit ${limit}
      ) checkout
    ) as "checkoutsPaidLate",
    (
      select count(*)::int from (
        select from gateway.refunds where status = 'pending' order by id limit ${limit}
      ) refund
    ) as "pendingRefunds",
    (
      select count(*)::int from (
        select from gateway.notifications where status = 'failed' order by status, id limit ${limit}
      ) notification
    ) as "failedNotifications",
    (
      select count(*)::int from (
        select from gateway.jobs where status = 'failed' order by status, id limit ${limit}
      ) job
    ) as "failedJobs",
    (
      select count(*)::int from gateway.webhook_endpoints where ${sql.unsafe(IS_FAILING)}
    ) as "failingEndpoints"`;
  return counts;
}

/** Requests that the gateway has not answered for some time. Each count is limited. */
export interface LastingUnknowns {
  payments: number;
  refunds: number;
  invoices: number;
  subscriptions: number;
}

export async function countLastingUnknowns(
  sql: Sql,
  before: Date,
  examined = MAX_EXAMINED,
): Promise<LastingUnknowns> {
  const limit = MAX_ATTENTION + 1;
  const [counts] = await sql<[LastingUnknowns]>`
    select (
      select count(*)::int from (${unansweredPayments(sql, before)} limit ${limit}) payment
    ) as payments,
    (
      select count(*)::int from (${unansweredRefunds(sql, examined)}) refund
      where created_at < ${before}
    ) as refunds,
    (
      select count(*)::int from (
        select created_at from gateway.invoices where status = 'pending'
        order by status, id limit ${limit}
      ) invoice where created_at < ${before}
    ) as invoices,
    (
      select count(*)::int from (
        (select updated_at from gateway.subscriptions where status = 'pending'
          order by status, id limit ${limit})
        union all
        (select updated_at from gateway.subscriptions
          where intent is not null and status <> 'pending' order by id limit ${limit})
      ) subscription where updated_at < ${before}
    ) as subscriptions`;
  return counts;
}

/** Endpoints that have failed since before this time, or that the service has disabled. */
export async function countLastingFailures(sql: Sql, before: Date): Promise<number> {
  const [found] = await sql<[{ count: number }]>`
    select count(*)::int as count from gateway.webhook_endpoints
    where ${sql.unsafe(IS_FAILING)}
      and (disabled_reason is not null or failing_since < ${before})`;
  return found.count;
}

export interface DifferingReport {
  id: string;
  /** Those that are not resolved. */
  differences: number;
}

/** Of the newest 100 reconciliations since this time, those with open differences; newest first. */
export async function listDifferingReports(sql: Sql, since: Date): Promise<DifferingReport[]> {
  return await sql<DifferingReport[]>`
    select id, differences from (
      select id, (
        select sum(count::int)::int from json_each_text(summary -> 'results') result (name, count)
        where name <> 'matched'
      ) - resolved_count as differences
      from (
        select id, summary, resolved_count from gateway.reconciliations
        where status = 'succeeded' and created_at >= ${since}
        order by id desc limit ${MAX_ATTENTION}
      ) newest
    ) report
    where differences > 0 order by id desc`;
}
