/** Deletes old rows in small steps, without reading newer rows. */

import type { Sql } from "../connection/database.ts";
import { IS_UNDELIVERED } from "./jobs.ts";
import { IS_LEASED } from "../records/lease.ts";

/** The ids of these tables are in the order of creation, so the oldest rows come first. */
export const PRUNED_TABLES = ["jobs", "notifications", "events", "audit"] as const;

export type PrunedTable = (typeof PRUNED_TABLES)[number];

/**
 * The column for the age of a row, the rows that may be deleted, and the deletions in other tables.
 */
const RULES: Record<PrunedTable, { ageColumn: string; condition: string; alsoDelete?: string[] }> =
  {
    // Not `created_at`: a job that was postponed for weeks may have finished only now.
    jobs: { ageColumn: "updated_at", condition: "record.status in ('succeeded', 'failed')" },
    notifications: { ageColumn: "created_at", condition: "record.status <> 'received'" },
    audit: { ageColumn: "created_at", condition: "true" },
    // An event without a position is kept, because lists and streams do not contain it yet. A
    // delivery job still needs the event it starts at and all later ones of its resource; a pending
    // webhook delivery needs its own event.
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
  /** Only ids after this one, which is where the previous step ended. */
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

/** The id after which the next run continues; null: it begins with the oldest row. */
export async function findPruneCursor(sql: Sql, table: PrunedTable): Promise<string | null> {
  const [row] = await sql<[{ last_id: string }?]>`
    select last_id from gateway.prune_cursors where table_name = ${table}`;
  return row?.last_id ?? null;
}

export async function storePruneCursor(
  sql: Sql,
  table: PrunedTable,
  lastId: string | null,
): Promise<void> {
  if (lastId === null) await sql`delete from gateway.prune_cursors where table_name = ${table}`;
  else {
    await sql`
      insert into gateway.prune_cursors (table_name, last_id) values (${table}, ${lastId})
      on conflict (table_name) do update set last_id = excluded.last_id`;
  }
}

const EXPIRED = "Expired: the endpoint was disabled for too long. Resend the event if you need it.";

/** Ends old deliveries that wait for a disabled endpoint, so that their events can be deleted. */
export async function expireWaitingDeliveries(
  sql: Sql,
  { end, before, limit }: Omit<PruneStep, "after">,
): Promise<number> {
  const { count } = await sql`
    with waiting as materialized (
      select delivery.* from gateway.webhook_endpoints endpoint, lateral (
        select event_id, endpoint_id from gateway.webhook_deliveries
        where endpoint_id = endpoint.id and status = 'pending' and event_id < ${end}
          and created_at < ${before}
        order by endpoint_id, status, event_id limit ${limit}
      ) delivery
      where endpoint.disabled_reason is not null and endpoint.deleted_at is null
      limit ${limit}
    )
    update gateway.webhook_deliveries delivery
    set status = 'failed', next_attempt_at = null, error = ${EXPIRED}
    from waiting
    where delivery.event_id = waiting.event_id and delivery.endpoint_id = waiting.endpoint_id
      and delivery.status = 'pending'`;
  return count;
}

/** Deletes old idempotency keys that no running request has claimed; returns how many. */
export async function pruneKeys(
  sql: Sql,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  const { count } = await sql`
    delete from gateway.idempotency_keys where ctid = any(array(
      select ctid from gateway.idempotency_keys
      where created_at < ${before} and not ${sql.unsafe(IS_LEASED)}
      order by created_at limit ${limit}
      for update skip locked))`;
  return count;
}
