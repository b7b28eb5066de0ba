/** Figures of checkouts by time: the statement that counts them. */

import type { Sql } from "../connection/database.ts";
import { firstColumnIs } from "../records/list_walk.ts";
import type { OwnerFilter } from "../records/records.ts";

export interface CheckoutStatsQuery {
  owner: OwnerFilter;
  /** The lowest id of each interval, in order. Ids are in the order of creation. */
  firstIds: string[];
  /** Exclusive: the lowest id after the last interval. */
  endId: string;
}

export interface CheckoutStatsRow {
  interval_index: number;
  count: number;
  paid_count: number;
  expired_count: number;
  cancelled_count: number;
  /** Of those that were paid. */
  gross_amount: number;
}

/**
 * Returns the intervals in which checkouts were created. It reads every checkout of the range, from
 * an index alone. The order by the columns of that index keeps PostgreSQL from reading the range of
 * all users instead (`firstColumnIs`). Without the inner `select`, the array is parsed for each
 * row.
 */
export async function countCheckouts(
  sql: Sql,
  { owner, firstIds, endId }: CheckoutStatsQuery,
): Promise<CheckoutStatsRow[]> {
  const isOwn = owner === null
    ? sql``
    : sql`${firstColumnIs(sql, "user_id", sql`${owner}::text`)} and`;
  return await sql<CheckoutStatsRow[]>`
    select width_bucket(id, (select ${sql.array(firstIds)}::uuid[])) - 1 as interval_index,
      count(*)::int as count,
      count(*) filter (where status = 'paid')::int as paid_count,
      count(*) filter (where status = 'expired')::int as expired_count,
      count(*) filter (where status = 'cancelled')::int as cancelled_count,
      coalesce(sum(gross_amount) filter (where status = 'paid'), 0)::bigint as gross_amount
    from (
      select id, status, gross_amount from gateway.checkouts
      where ${isOwn} id >= ${firstIds[0]!}::uuid and id < ${endId}::uuid
      order by ${owner === null ? sql`` : sql`user_id,`} id offset 0
    ) checkout
    group by interval_index order by interval_index`;
}
