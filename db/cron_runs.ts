/** The schedule's ticks: of each task the last one, and what came of it. */

import type { Sql } from "./database.ts";

export interface CronRun {
  task: string;
  minute: Date;
  started_at: Date;
  finished_at: Date | null;
  /** What it came to, where it ended well. */
  result: unknown;
  error: string | null;
}

/**
 * Takes a task's tick of a minute; false where it was taken. Minutes go forward: an instance that is
 * late does not run again what another has run. Only from far ahead is the way back open, for then a
 * clock was wrong, and nothing would run until it is that late again.
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
  /** JSON; null is no result. */
  result: string | null;
}

/** Records the end of a tick, unless the next one has begun. */
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
