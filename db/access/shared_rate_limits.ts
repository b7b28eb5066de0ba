/** The requests that callers may still send to all instances together. */

import type { Sql } from "../connection/database.ts";

export interface Usage {
  user_id: string;
  /** The requests that this instance has accepted since its last report. */
  used: number;
}

/**
 * Subtracts the requests from what their callers may still send, and returns the rest. In the order
 * of the users, so that the statements of several instances cannot wait for each other.
 */
export async function reportUsage(
  sql: Sql,
  usage: Usage[],
  { perSecond, burst }: { perSecond: number; burst: number },
): Promise<{ user_id: string; tokens: number }[]> {
  return await sql<{ user_id: string; tokens: number }[]>`
    insert into gateway.shared_rate_limits as known (user_id, tokens, updated_at)
    select user_id, ${burst}::float8 - used, clock_timestamp()
    from json_to_recordset(${JSON.stringify(usage)}::text::json)
      as usage (user_id text, used float8)
    order by user_id
    on conflict (user_id) do update set
      updated_at = greatest(known.updated_at, excluded.updated_at),
      -- What the inserted row would have, less what is missing from the burst.
      tokens = excluded.tokens - greatest(0, ${burst}::float8 - known.tokens
        - ${perSecond}::float8
          * greatest(0, extract(epoch from excluded.updated_at - known.updated_at))::float8)
    returning user_id, tokens`;
}

/** Deletes the rows of callers who may again send the whole burst. */
export async function deleteFullBuckets(
  sql: Sql,
  { perSecond, burst }: { perSecond: number; burst: number },
): Promise<void> {
  await sql`
    delete from gateway.shared_rate_limits where user_id in (
      select user_id from gateway.shared_rate_limits
      where ${burst}::float8 - tokens
        < ${perSecond}::float8 * extract(epoch from clock_timestamp() - updated_at)::float8
      -- Another instance may update them in another order.
      for update skip locked
    )`;
}
