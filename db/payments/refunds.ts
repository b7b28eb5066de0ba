/** The statements that read refunds. `side_effects.ts` writes them together with their payment. */

import type postgres from "postgres";
import { MAX, NIL } from "uuid";
import { actorNameSql } from "../access/api_keys.ts";
import type { Sql } from "../connection/database.ts";
import { paymentOf } from "./statements.ts";
import type { GatewayRefund, RefundStatus } from "./payments.ts";
import type { Fragment } from "../records/list_walk.ts";
import type { OwnerFilter } from "../records/records.ts";

/** The status code if the gateway accepted the refund, but the bank has not made it yet. */
export const PENDING_AT_BANK = "201";

/**
 * Selects the oldest refunds of which it is unknown if the gateway has accepted them. The condition
 * and the order are those of index `refunds_unanswered`, so PostgreSQL uses it.
 */
export function unansweredRefunds(sql: Sql, limit: number): Fragment {
  const isUnanswered = sql.unsafe(`status_code is distinct from '${PENDING_AT_BANK}'`);
  return sql`
    select created_at from gateway.refunds where status = 'pending' and ${isUnanswered}
    order by (${isUnanswered}), id limit ${limit}`;
}

export interface RefundDetails extends GatewayRefund {
  /** The order id of the payment. */
  order_id: string;
  /** The name of the actor; null: it was not requested here. */
  created_by_name: string | null;
}

/** Null: any value. */
export interface RefundFilter {
  owner: OwnerFilter;
  statuses: readonly RefundStatus[] | null;
  paymentId: string | null;
  createdFrom: Date | null;
  /** All refunds since `createdFrom` have this id or a higher one. */
  firstId: string | null;
  /** Exclusive. */
  createdTo: Date | null;
  minAmount: number | null;
  maxAmount: number | null;
  /** Only refunds after this one in the list. */
  before: string | null;
  limit: number;
}

/**
 * Newest first, by the time at which the service learned of the refund. Reads one range of an
 * index, in its order, and skips the refunds that do not match: few payments are refunded. A refund
 * that was made in the gateway's dashboard has the gateway's time as `created_at`, which is earlier
 * than the time in its id; so `createdFrom` limits the ids, and `createdTo` does not. Refunds
 * before `firstId` match, and are left out after the limit, so that the limit ends the scan (see
 * `newestInRange` in `list_walk.ts`).
 */
export async function listRefunds(sql: Sql, filter: RefundFilter): Promise<RefundDetails[]> {
  const { owner, paymentId, firstId, before, limit } = filter;
  const [ownerColumn, ownerValue, ownerOrder] = owner === null || paymentId !== null
    ? [sql``, sql``, sql``]
    : [sql`user_id,`, sql`${owner}::text,`, sql`user_id desc,`];
  // A payment has few refunds: all are read by its index and then filtered.
  const source = paymentId === null ? sql`gateway.refunds` : sql`of_payment`;
  return await sql<RefundDetails[]>`
    with of_payment as materialized (
      select * from gateway.refunds where payment_id = ${paymentId}
    ), refund as materialized (
      select * from ${source}
      where (${ownerColumn} id) < (${ownerValue} ${before ?? MAX}::uuid)
        and (${ownerColumn} id) >= (${ownerValue} ${NIL}::uuid)
        and (id < ${firstId ?? NIL}::uuid or (true ${matches(sql, filter)}))
      order by ${ownerOrder} id desc limit ${limit}
    )
    select refund.*, ${actorNameSql(sql, "refund.created_by")} as created_by_name, payment.order_id
    from refund cross join lateral ${paymentOf(sql, "refund")}
    where refund.id >= ${firstId ?? NIL}::uuid
    order by refund.id desc`;
}

/**
 * Contains only the filters that are set: with each further condition PostgreSQL expects fewer rows
 * and could choose another plan.
 */
function matches(sql: Sql, filter: RefundFilter) {
  const { owner, paymentId, statuses, createdFrom, createdTo, minAmount, maxAmount } = filter;
  const when = (isSet: boolean, condition: () => postgres.PendingQuery<postgres.Row[]>) =>
    isSet ? condition() : sql``;
  return sql`
        ${when(paymentId !== null && owner !== null, () => sql`and user_id = ${owner}`)}
        ${when(statuses !== null, () => sql`and status = any(${sql.array([...statuses!])})`)}
        ${when(createdFrom !== null, () => sql`and created_at >= ${createdFrom}`)}
        ${when(createdTo !== null, () => sql`and created_at < ${createdTo}`)}
        ${when(minAmount !== null, () => sql`and amount >= ${minAmount}`)}
        ${when(maxAmount !== null, () => sql`and amount <= ${maxAmount}`)}`;
}

/** The newest refunds of these payments. */
export async function listRefundsOfPayments(
  sql: Sql,
  paymentIds: string[],
  limit: number,
): Promise<RefundDetails[]> {
  return await sql<RefundDetails[]>`
    select refund.*, ${actorNameSql(sql, "refund.created_by")} as created_by_name, payment.order_id
    from gateway.refunds refund cross join lateral ${paymentOf(sql, "refund")}
    where refund.payment_id = any(${paymentIds}::uuid[])
    order by refund.id desc limit ${limit}`;
}

export async function findRefund(
  sql: Sql,
  id: string,
  owner: OwnerFilter,
): Promise<RefundDetails | null> {
  const [refund] = await sql<[RefundDetails?]>`
    select refund.*, ${actorNameSql(sql, "refund.created_by")} as created_by_name, payment.order_id
    from gateway.refunds refund cross join lateral (
      select * from gateway.payments where id = refund.payment_id limit 1
    ) payment
    where refund.id = ${id} and (${owner}::text is null or payment.user_id = ${owner})`;
  return refund ?? null;
}
