/** The last scheduled run of each task, and its result. */

import type { Sql } from "../connection/database.ts";

export interface CronRun {
  task: string;
  minute: Date;
  started_at: Date;
  finished_at: Date | null;
  /** Null unless the run succeeded. */
  result: unknown;
  error: string | null;
}

/**
 * Claims the run of a task in this minute; false: another instance has claimed this minute or a
 * later one. A stored minute far in the future comes from an instance with a wrong clock and is
 * ignored: otherwise the task would not run until that time.
 */
export async function claimTick(
  sql: Sql,
  { task, minute, started_at }: Pick<CronRun, "task" | "minute" | "started_at">,
): Promise<boolean> {
  const rows = await sql`
    insert into gateway.cron_runs as last (task, minute, started_at)
    values (${task}, ${minute}, ${started_at})
    on conflict (task) do update set
      (minute, started_at, finished_at, result, error) = row(
        excluded.minute, excluded.started_at, null::timestamptz, null::json, null::text)
    where last.minute < excluded.minute
      or last.minute > excluded.minute + interval '10 minutes'
    returning true`;
  return rows.length > 0;
}

export interface TickEnd extends Omit<CronRun, "started_at" | "result"> {
  /** JSON, or null. */
  result: string | null;
}

/** Stores the end of a run, unless the next one has begun. */
export async function endTick(
  sql: Sql,
  { task, minute, finished_at, result, error }: TickEnd,
): Promise<void> {
  await sql`
    update gateway.cron_runs
    set finished_at = ${finished_at}, result = ${result}::text::json, error = ${error}
    where task = ${task} and minute = ${minute}`;
}

export async function listCronRuns(sql: Sql): Promise<CronRun[]> {
  return await sql<CronRun[]>`select * from gateway.cron_runs`;
}
