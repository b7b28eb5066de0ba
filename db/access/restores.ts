/** What the service has to know after its database was restored from a backup. */

import type { Sql } from "../connection/database.ts";

/** When the database was restored for the last time; null: never. */
export async function findLastRestore(sql: Sql): Promise<Date | null> {
  const [row] = await sql<[{ restored_at: Date | null }]>`
    select max(restored_at) as restored_at from gateway.restores`;
  return row.restored_at;
}

/** The time of the newest row in the backup; null: the database has no payment and no event. */
export async function findEndOfBackup(sql: Sql): Promise<Date | null> {
  const [row] = await sql<[{ ends_at: Date | null }]>`
    select greatest(
      (select created_at from gateway.payments order by id desc limit 1),
      (select created_at from gateway.events order by id desc limit 1),
      (select created_at from gateway.notifications order by id desc limit 1)) as ends_at`;
  return row.ends_at;
}

export async function insertRestore(sql: Sql): Promise<void> {
  await sql`insert into gateway.restores (restored_at) values (now())`;
}

/**
 * Leaves a gap before the next `sequence` of the events about endpoints and causes. The other
 * records leave it with their next change (`core/records/restored.ts`).
 */
export async function skipSequences(sql: Sql, step: number): Promise<void> {
  const next = sql`event_count = (event_count / ${step}::int + 2) * ${step}::int`;
  await sql`update gateway.webhook_endpoints set ${next}`;
  await sql`update gateway.attention set ${next}`;
}
