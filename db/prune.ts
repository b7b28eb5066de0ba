/** Deletes what is over and old, a few rows at a time, without reading what is kept. */

import type { Sql } from "./database.ts";
import { IS_UNDELIVERED } from "./jobs.ts";

/** Their ids are in the order of time, and so those that are old come first. */
export const PRUNED_TABLES = ["jobs", "notifications", "events"] as const;

export type PrunedTable = (typeof PRUNED_TABLES)[number];

/** Which of them are over, and since when; and what goes with them. */
const OVER: Record<PrunedTable, { since: string; condition: string; along?: string }> = {
  // One that was put off for long is old, but may have ended only now.
  jobs: { since: "updated_at", condition: "record.status in ('succeeded', 'failed')" },
  notifications: { since: "created_at", condition: "record.status <> 'received'" },
  // A delivery begins with one event of its resource, and goes on with all that come after it; to an
  // endpoint each has its own.
  events: {
    since: "created_at",
    condition: `not exists (
        select from gateway.jobs where ${IS_UNDELIVERED} and jobs.subject_id = record.resource_id
          and (jobs.payload ->> 'sequence')::int <= record.sequence)
      and not exists (
        select from gateway.webhook_deliveries delivery
        join gateway.webhook_endpoints endpoint on endpoint.id = delivery.endpoint_id
        where delivery.event_id = record.id and delivery.status = 'pending')`,
    along: `delete from gateway.webhook_deliveries using old where event_id = old.id`,
  },
};

export interface PruneStep {
  /** Only ids after this one: where the last step ended. */
  after: string;
  /** Only ids before this one. */
  end: string;
  /** Only what was over before this. */
  before: Date;
  /** How many rows are looked at. */
  limit: number;
}

export interface PrunedStep {
  deleted: number;
  /** Where the next step begins; null: there is none. */
  last: string | null;
}

/** What somebody has locked is left for another time: nobody waits, not even this. */
export async function pruneTable(
  sql: Sql,
  table: PrunedTable,
  { after, end, before, limit }: PruneStep,
): Promise<PrunedStep> {
  const { since, condition, along } = OVER[table];
  const [step] = await sql.unsafe<[PrunedStep]>(
    `with looked as materialized (
      select id from gateway.${table} where id > $1 and id < $2 order by id limit $4
    ), old as materialized (
      select record.id from looked join gateway.${table} record using (id)
      where record.${since} < $3 and ${condition}
      for update of record skip locked
    )${along ? `, along as (${along})` : ""}, deleted as (
      delete from gateway.${table} record using old where record.id = old.id returning true
    )
    select (select count(*)::int from deleted) as deleted,
      (select id from looked order by id offset $4 - 1) as last`,
    [after, end, before, limit],
    { prepare: true },
  );
  return step;
}

/** Keys that nobody holds; how many were deleted. */
export async function pruneKeys(
  sql: Sql,
  { before, now, limit }: { before: Date; now: Date; limit: number },
): Promise<number> {
  const { count } = await sql`
    delete from gateway.idempotency_keys where ctid = any(array(
      select ctid from gateway.idempotency_keys
      where created_at < ${before} and lease_until <= ${now}
      order by created_at limit ${limit}
      for update skip locked))`;
  return count;
}
