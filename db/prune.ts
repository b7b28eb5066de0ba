/** Deletes old rows in small steps, without reading the rows that are kept. */

import type { Sql } from "./database.ts";
import { IS_UNDELIVERED } from "./jobs.ts";

/** Their ids are in the order of creation, so the oldest rows come first. */
export const PRUNED_TABLES = ["jobs", "notifications", "events"] as const;

export type PrunedTable = (typeof PRUNED_TABLES)[number];

/** The column with the age of a row, which rows may be deleted, and which are deleted with them. */
const RULES: Record<PrunedTable, { ageColumn: string; condition: string; alsoDelete?: string[] }> =
  {
    // Not `created_at`: a job that was postponed for weeks may have finished only now.
    jobs: { ageColumn: "updated_at", condition: "record.status in ('succeeded', 'failed')" },
    notifications: { ageColumn: "created_at", condition: "record.status <> 'received'" },
    // An event without a position is not in lists and streams yet. A delivery job still needs the event it starts at and all later ones of its resource; a webhook
    // delivery needs its own event.
    events: {
      ageColumn: "created_at",
      condition: `exists (select from gateway.published_events where event_id = record.id)
      and not exists (
        select from gateway.jobs where ${IS_UNDELIVERED} and jobs.subject_id = record.resource_id
          and (jobs.payload ->> 'sequence')::int <= record.sequence)
      and not exists (
        select from gateway.webhook_deliveries delivery
        join gateway.webhook_endpoints endpoint on endpoint.id = delivery.endpoint_id
        where delivery.event_id = record.id and delivery.status = 'pending')`,
      alsoDelete: ["webhook_deliveries", "published_events"].map((other) =>
        `delete from gateway.${other} using old where event_id = old.id`
      ),
    },
  };

export interface PruneStep {
  /** Only ids after this one, at which the last step ended. */
  after: string;
  /** Only ids before this one. */
  end: string;
  /** Only rows that are older than this. */
  before: Date;
  /** How many rows are read. */
  limit: number;
}

export interface PrunedStep {
  deleted: number;
  /** Where the next step continues; null: this was the last one. */
  last: string | null;
}

/** Deletes old rows. Rows that another transaction has locked are left to the next run. */
export async function pruneTable(
  sql: Sql,
  table: PrunedTable,
  { after, end, before, limit }: PruneStep,
): Promise<PrunedStep> {
  const { ageColumn, condition, alsoDelete = [] } = RULES[table];
  const [step] = await sql.unsafe<[PrunedStep]>(
    `with candidate as materialized (
      select id from gateway.${table} where id > $1 and id < $2 order by id limit $4
    ), old as materialized (
      select record.id from candidate join gateway.${table} record using (id)
      where record.${ageColumn} < $3 and ${condition}
      for update of record skip locked
    )${alsoDelete.map((sql, i) => `, also_deleted_${i} as (${sql})`).join("")}, deleted as (
      delete from gateway.${table} record using old where record.id = old.id returning true
    )
    select (select count(*)::int from deleted) as deleted,
      (select id from candidate order by id offset $4 - 1) as last`,
    [after, end, before, limit],
    { prepare: true },
  );
  return step;
}

/** Deletes idempotency keys that no running request holds; returns how many. */
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
