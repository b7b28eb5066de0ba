/** The statements that read refunds. `side_effects.ts` writes them together with their payment. */

import { MAX, NIL } from "uuid";
import type { Sql } from "./database.ts";
import { paymentOf } from "./payment_statements.ts";
import type { GatewayRefund, RefundStatus } from "./payments.ts";
import type { OwnerFilter } from "./records.ts";

export interface RefundDetails extends GatewayRefund {
  /** Of the payment. */
  order_id: string;
}

/** Null: any value. */
export interface RefundFilter {
  owner: OwnerFilter;
  statuses: readonly RefundStatus[] | null;
  paymentId: string | null;
  createdFrom: Date | null;
  /** Exclusive. */
  createdTo: Date | null;
  minAmount: number | null;
  maxAmount: number | null;
  /** Only refunds after this one in the list. */
  before: string | null;
  limit: number;
}

interface Position {
  created_at: Date;
  id: string;
}

/** After every refund. */
const END: Position = { created_at: new Date("9999-12-31T00:00:00Z"), id: MAX };

/**
 * Newest first. Reads one range of an index, in its order, and skips the refunds that do not match:
 * few payments are refunded. A refund that was made in the gateway's dashboard has the gateway's time,
 * so the ids are not in the order of `created_at`.
 */
export async function listRefunds(sql: Sql, filter: RefundFilter): Promise<RefundDetails[]> {
  const { owner, paymentId, before, limit } = filter;
  const end = before === null ? END : await findPosition(sql, before);
  if (!end) return [];
  const from = filter.createdFrom ?? new Date(0);
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
      where (${ownerColumn} created_at, id)
          < (${ownerValue} ${end.created_at}::timestamptz, ${end.id}::uuid)
        and (${ownerColumn} created_at, id) >= (${ownerValue} ${from}::timestamptz, ${NIL}::uuid)
        and (${owner}::text is null or user_id = ${owner})
        and ${matches(sql, filter)}
      order by ${ownerOrder} created_at desc, id desc limit ${limit}
    )
    select refund.*, payment.order_id from refund cross join lateral ${paymentOf(sql, "refund")}
    order by refund.created_at desc, refund.id desc`;
}

/** Null: there is no such refund. */
async function findPosition(sql: Sql, id: string): Promise<Position | null> {
  const [position] = await sql<[Position?]>`
    select created_at, id from gateway.refunds where id = ${id}`;
  return position ?? null;
}

function matches(
  sql: Sql,
  { statuses, createdTo, minAmount, maxAmount }: RefundFilter,
) {
  const wanted = statuses && sql.array([...statuses]);
  return sql`(${createdTo}::timestamptz is null or created_at < ${createdTo})
          and (${wanted}::text[] is null or status = any(${wanted}))
          and (${minAmount}::bigint is null or amount >= ${minAmount})
          and (${maxAmount}::bigint is null or amount <= ${maxAmount})`;
}

export async function findRefund(
  sql: Sql,
  id: string,
  owner: OwnerFilter,
): Promise<RefundDetails | null> {
  const [refund] = await sql<[RefundDetails?]>`
    select refund.*, payment.order_id
    from gateway.refunds refund cross join lateral (
      select * from gateway.payments where id = refund.payment_id limit 1
    ) payment
    where refund.id = ${id} and (${owner}::text is null or payment.user_id = ${owner})`;
  return refund ?? null;
}
