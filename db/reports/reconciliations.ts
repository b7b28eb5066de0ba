/**
 * Reconciliations: the statements that store and read them. `reconciliation_lines.ts` has their
 * lines.
 */

import { MAX } from "uuid";
import type { Sql } from "../connection/database.ts";

export const RECONCILIATION_STATUSES = ["queued", "running", "succeeded"] as const;

export const DIFFERENCES = [
  "amount_differs",
  "status_differs",
  "listed_twice",
  "missing_here",
  "missing_there",
] as const;

export type DifferenceResult = (typeof DIFFERENCES)[number];

export type LineResult = "matched" | DifferenceResult;

/** Sums of the lines of one day. */
export interface DaySums {
  /** Null: the lines have no time. */
  date: string | null;
  lines: number;
  gross: number;
  fee_cents: number;
  net_cents: number;
}

/** The place of a payment in the order of settlement. */
export interface SettledCursor {
  /** RFC 3339, in microseconds. */
  settlement_time: string;
  payment_id: string;
}

/**
 * Added up while the file is read and compared: a statement that adds up a large file at the end
 * would exceed the time limit of statements.
 */
export interface ReconciliationSummary {
  /**
   * How many of the lines compared so far have each result. `missing_there` is null if the file has
   * no settlement times: then payments that are missing in it are not searched for.
   */
  results: Record<Exclude<LineResult, "missing_there">, number> & { missing_there: number | null };
  days: DaySums[];
  /** The columns of the file. Absent if the file has no lines. */
  columns?: readonly string[] | undefined;
  /** Payments up to this one were searched for in the file; null: none yet. */
  searched: SettledCursor | null;
}

export interface Reconciliation {
  id: string;
  user_id: string;
  /** `uploading`: the upload has not ended, or the deletion has begun. */
  status: (typeof RECONCILIATION_STATUSES)[number] | "uploading";
  job_id: string | null;
  line_count: number;
  /** The number of the last line that was compared. */
  compared_to: number;
  first_day: string | null;
  last_day: string | null;
  /** The caller allowed more checks at the gateway than usual. */
  is_confirmed: boolean;
  queued_checks: number;
  /** Differences that are marked as resolved. */
  resolved_count: number;
  /** Null until the upload of the file has ended. */
  summary: ReconciliationSummary | null;
  created_at: Date;
  finished_at: Date | null;
}

const COLUMNS = `id, user_id, status, job_id, line_count, compared_to, first_day::text,
  last_day::text, is_confirmed, queued_checks, resolved_count, summary, created_at, finished_at`;

export async function beginUpload(
  sql: Sql,
  { id, user_id, is_confirmed, created_at }: Pick<
    Reconciliation,
    "id" | "user_id" | "is_confirmed" | "created_at"
  >,
): Promise<void> {
  await sql`
    insert into gateway.reconciliations (id, user_id, status, is_confirmed, created_at)
    values (${id}, ${user_id}, 'uploading', ${is_confirmed}, ${created_at})`;
}

export async function findByFile(sql: Sql, hash: Uint8Array): Promise<Reconciliation | null> {
  const [row] = await sql<[Reconciliation?]>`
    select ${sql.unsafe(COLUMNS)} from gateway.reconciliations
    where file_hash = ${hash} and status <> 'uploading'`;
  return row ?? null;
}

/**
 * Throws a unique violation if another upload of the same file has ended first. Null: the upload
 * was deleted.
 */
export async function endUpload(
  sql: Sql,
  id: string,
  upload: {
    hash: Uint8Array;
    lineCount: number;
    firstDay: string | null;
    lastDay: string | null;
    summary: ReconciliationSummary;
    jobId: string;
  },
): Promise<Reconciliation | null> {
  const [row] = await sql<[Reconciliation?]>`
    update gateway.reconciliations set status = 'queued', file_hash = ${upload.hash},
      line_count = ${upload.lineCount}, first_day = ${upload.firstDay}::date,
      last_day = ${upload.lastDay}::date, job_id = ${upload.jobId},
      summary = ${JSON.stringify(upload.summary)}::text::json
    where id = ${id}
    returning ${sql.unsafe(COLUMNS)}`;
  return row ?? null;
}

export async function findReconciliation(sql: Sql, id: string): Promise<Reconciliation | null> {
  const [row] = await sql<[Reconciliation?]>`
    select ${sql.unsafe(COLUMNS)} from gateway.reconciliations
    where id = ${id} and status <> 'uploading'`;
  return row ?? null;
}

export type ListedReconciliation = Omit<Reconciliation, "summary"> & {
  results: ReconciliationSummary["results"];
};

/** Newest first, without the sums by day. */
export async function listReconciliations(
  sql: Sql,
  { before, limit }: { before: string | null; limit: number },
): Promise<ListedReconciliation[]> {
  return await sql<ListedReconciliation[]>`
    select ${sql.unsafe(COLUMNS.replace("summary", "summary -> 'results' as results"))}
    from gateway.reconciliations
    where id < ${before ?? MAX}::uuid and status <> 'uploading'
    order by id desc limit ${limit}`;
}

/**
 * Locks a file until the end of the transaction. False: since this progress was read, another run
 * of the job has continued or ended the file, or its deletion has begun.
 */
export async function lockProgress(
  sql: Sql,
  id: string,
  { lastComparedLine, searched }: { lastComparedLine: number; searched: SettledCursor | null },
): Promise<boolean> {
  const rows = await sql`
    select from gateway.reconciliations
    where id = ${id} and status in ('queued', 'running') and compared_to = ${lastComparedLine}
      and (summary ->> 'searched')::jsonb
        is not distinct from ${searched && JSON.stringify(searched)}::text::jsonb
    for no key update`;
  return rows.length > 0;
}

/** Stores how far the file is compared, also in its job. Call `lockProgress` first. */
export async function storeProgress(
  sql: Sql,
  { id, job_id, line_count }: Reconciliation,
  { lastComparedLine, comparedLines, summary }: {
    lastComparedLine: number;
    comparedLines: number;
    summary: ReconciliationSummary;
  },
): Promise<void> {
  await sql`
    update gateway.reconciliations set status = 'running', compared_to = ${lastComparedLine},
      summary = ${JSON.stringify(summary)}::text::json
    where id = ${id}`;
  const progress = JSON.stringify({
    reconciliation_id: id,
    compared_lines: comparedLines,
    lines: line_count,
  });
  await sql`
    update gateway.jobs set result = ${progress}::text::json
    where id = ${job_id} and status = 'running'`;
}

/** The job of a file that is not compared yet; null: there is no such file. Locks the file. */
export async function lockJobId(sql: Sql, id: string): Promise<string | null> {
  const [row] = await sql<[{ job_id: string }?]>`
    select job_id from gateway.reconciliations
    where id = ${id} and status in ('queued', 'running')
    for no key update`;
  return row?.job_id ?? null;
}

export async function storeJobId(sql: Sql, id: string, jobId: string): Promise<void> {
  await sql`update gateway.reconciliations set job_id = ${jobId} where id = ${id}`;
}

/** Call `lockProgress` first. */
export async function endReconciliation(
  sql: Sql,
  id: string,
  end: { queuedChecks: number; now: Date },
): Promise<void> {
  await sql`
    update gateway.reconciliations set status = 'succeeded', finished_at = ${end.now},
      queued_checks = ${end.queuedChecks}
    where id = ${id}`;
}

/** Allows more checks at the gateway. Returns whether the file is compared already. */
export async function confirmChecks(sql: Sql, id: string): Promise<boolean> {
  const [row] = await sql<[{ status: Reconciliation["status"] }?]>`
    update gateway.reconciliations set is_confirmed = true
    where id = ${id} and not is_confirmed returning status`;
  return row?.status === "succeeded";
}

export async function storeQueuedChecks(sql: Sql, id: string, queuedChecks: number): Promise<void> {
  await sql`
    update gateway.reconciliations set queued_checks = greatest(queued_checks, ${queuedChecks})
    where id = ${id}`;
}

/**
 * A reconciliation that has to be deleted: its id is before `end`, or it is an unfinished upload or
 * deletion, and its id is before `abandonedEnd`.
 */
export async function findOldReconciliation(
  sql: Sql,
  { end, abandonedEnd }: { end: string; abandonedEnd: string },
): Promise<string | null> {
  const [row] = await sql<[{ id: string }?]>`
    select id from (
      (select id from gateway.reconciliations where id < ${end} order by id limit 1)
      union all
      (select id from gateway.reconciliations
        where id < ${abandonedEnd} and status = 'uploading' order by id limit 1)
    ) old limit 1`;
  return row?.id ?? null;
}

/**
 * Hides a reconciliation, and keeps its job from storing lines, before its lines are deleted. There
 * is no condition on the status, so that it waits for an `endUpload` whose transaction is not over.
 */
export async function beginDeletion(sql: Sql, id: string): Promise<void> {
  await sql`update gateway.reconciliations set status = 'uploading' where id = ${id}`;
}

/** The caller deletes the lines first. */
export async function deleteReconciliation(sql: Sql, id: string): Promise<void> {
  await sql`delete from gateway.reconciliations where id = ${id}`;
}
