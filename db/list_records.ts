/** Lists of records, newest first: of one owner or all, of one state or any, at the same cost. */

import { MAX, NIL } from "uuid";
import type { Sql } from "./database.ts";

export interface ListOptions {
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
  { owner, status, before, limit }: ListOptions,
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
