/**
 * Stores and deletes the gateway's reports that are compared with the payments here, and reads the
 * results. `reconcile.ts` compares the reports.
 */

import { createHash } from "node:crypto";
import { codeOf, type Database, type Sql, UNIQUE_VIOLATION } from "../../db/connection/database.ts";
import { insertJobs } from "../../db/jobs/jobs.ts";
import * as lines from "../../db/reports/reconciliation_lines.ts";
import * as db from "../../db/reports/reconciliations.ts";
import { type Caller, requireReadAll, requireStaff } from "../auth/caller.ts";
import { invalidField, ServiceError } from "../errors.ts";
import { newId } from "../ids.ts";
import { formatCents, formatMoney } from "../money.ts";
import { readPage } from "../lists/page.ts";
import type { Service } from "../service.ts";
import { confirmChecks, newReconcileJob, queueAgain } from "./reconcile.ts";
import { type ColumnNames, readReport, type ReportColumn } from "./report_file.ts";

export { type DifferenceResult, DIFFERENCES } from "../../db/reports/reconciliations.ts";
export { RECONCILIATION_STATUSES } from "../../db/reports/reconciliations.ts";
export type { DifferenceFilter } from "../../db/reports/reconciliation_lines.ts";

export const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Lines that one statement stores or deletes. */
const BATCH = 500;

/** Nearly three years; a report covers a day or a month. */
const MAX_DAYS = 1_000;

export interface UploadOptions {
  columns: ColumnNames;
  /** More than `MAX_CHECKS` checks may be queued. */
  isConfirmed: boolean;
}

/**
 * `isQueued` is false if the same file was uploaded before with the same columns. If the job of
 * that file has failed, it is queued again.
 */
export async function uploadReport(
  service: Service,
  caller: Caller,
  file: ReadableStream<Uint8Array>,
  { columns, isConfirmed }: UploadOptions,
): Promise<{ reconciliation: ReconciliationView; isQueued: boolean }> {
  requireStaff(caller);
  const { database, clock } = service;
  const created_at = new Date(clock());
  const id = newId(created_at);
  const begin = { id, user_id: caller.userId, is_confirmed: isConfirmed, created_at };
  await database.query((sql) => db.beginUpload(sql, begin), "begin upload");
  try {
    const upload = await storeLines(service, id, file, columns);
    const known = await database.query((sql) => db.findByFile(sql, upload.hash), "find file");
    if (known) {
      await deleteUpload(service, id);
      if (isConfirmed && !known.is_confirmed) await confirmChecks(service, known.id, caller.userId);
      const job = await queueAgain(service, known);
      const reconciliation = view({ ...known, job_id: job?.id ?? known.job_id });
      return { reconciliation, isQueued: job !== null };
    }
    const job = newReconcileJob(begin, created_at);
    const stored = await database.transaction(async (sql) => {
      const ended = await db.endUpload(sql, id, { ...upload, jobId: job.id });
      if (!ended) throw new ServiceError("not_found");
      await insertJobs(sql, [job]);
      return ended;
    }, "end upload");
    service.jobQueue.enqueue(job);
    return { reconciliation: view(stored), isQueued: true };
  } catch (error) {
    await deleteUpload(service, id);
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error;
    throw new ServiceError("unavailable", {
      detail: "The same file was uploaded at the same time. Send it again to get its result.",
      headers: { "Retry-After": "1" },
      isExpected: true,
    });
  }
}

/** Deletes an upload that is not used. If that fails, `prune` deletes it later. */
async function deleteUpload({ database, log }: Service, id: string): Promise<void> {
  try {
    await deleteReconciliation(database, id);
  } catch (error) {
    log.error("upload_not_deleted", error, { reconciliation_id: id });
  }
}

/** Deletes a reconciliation with its lines, in small steps. Its job may be running. */
export async function deleteReconciliation(database: Database, id: string): Promise<void> {
  await database.query((sql) => db.beginDeletion(sql, id), "begin deletion");
  for (let last: number | null = lines.BEFORE_FIRST_LINE; last !== null;) {
    const step: lines.DeleteStep = { which: "all", after: last, limit: BATCH };
    last = await database.query((sql) => lines.deleteLines(sql, id, step), "delete lines");
  }
  const deleteSome = () =>
    database.query((sql) => lines.deleteReported(sql, id, BATCH), "delete reported lines");
  while (await deleteSome());
  await database.query((sql) => db.deleteReconciliation(sql, id), "delete reconciliation");
}

async function storeLines(
  { database }: Service,
  id: string,
  file: ReadableStream<Uint8Array>,
  columns: ColumnNames,
) {
  const hash = createHash("sha256").update(JSON.stringify(Object.entries(columns).sort()));
  let size = 0;
  const counted = file.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        size += chunk.byteLength;
        if (size > MAX_FILE_BYTES) throw tooLarge();
        hash.update(chunk);
        controller.enqueue(chunk);
      },
    }),
  );
  let batch: lines.FileLine[] = [];
  let lineCount = 0;
  const days = new Map<string | null, db.DaySums>();
  let hasSettlementDays = false;
  const store = async () => {
    const stored = batch;
    batch = [];
    await database.query((sql) => lines.insertLines(sql, id, stored), "insert lines");
  };
  let found: readonly ReportColumn[] | undefined;
  for await (const { hasSettlementDay, columns: used, ...line } of readReport(counted, columns)) {
    lineCount++;
    found = used;
    hasSettlementDays ||= hasSettlementDay;
    addToDay(days, line);
    batch.push(line);
    if (batch.length === BATCH) await store();
  }
  if (batch.length > 0) await store();
  const dates = [...days.keys()].filter((day) => day !== null).sort();
  const summary: db.ReconciliationSummary = {
    results: {
      matched: 0,
      amount_differs: 0,
      status_differs: 0,
      listed_twice: 0,
      missing_here: 0,
      missing_there: hasSettlementDays ? 0 : null,
    },
    // Lines without a time come last.
    days: [...dates, null].flatMap((day) => days.get(day) ?? []),
    columns: found,
    searched: null,
  };
  const [firstDay = null, lastDay = null] = [dates[0], dates.at(-1)];
  if (firstDay !== null && daysBetween(firstDay, lastDay!) >= MAX_DAYS) {
    throw invalidField(
      "body",
      `has lines from ${firstDay} to ${lastDay}, more than ${MAX_DAYS} days; correct the times, or ` +
        "send it in parts",
    );
  }
  return { hash: hash.digest(), lineCount, firstDay, lastDay, summary };
}

function daysBetween(first: string, last: string): number {
  return Temporal.PlainDate.from(first).until(last).days;
}

/** The sign of a line's amount in the sums, by its kind. */
const SIGNS = { settlement: 1, refund: -1, chargeback: -1 };

function addToDay(days: Map<string | null, db.DaySums>, line: lines.FileLine): void {
  const { day: date, kind, amount, fee_cents, net_cents } = line;
  const sums = days.get(date) ?? { date, lines: 0, gross: 0, fee_cents: 0, net_cents: 0 };
  days.set(date, sums);
  if (days.size > MAX_DAYS) {
    throw invalidField("body", `has more than ${MAX_DAYS} days; send it in parts`);
  }
  sums.lines++;
  if (kind === "status") return;
  sums.gross += SIGNS[kind] * amount;
  sums.fee_cents += fee_cents ?? 0;
  sums.net_cents += net_cents ?? 0;
  if ([sums.gross, sums.fee_cents, sums.net_cents].every(Number.isSafeInteger)) return;
  throw invalidField("body", `line ${line.line}: the amounts of one day are too large to add up`);
}

export function tooLarge(): ServiceError {
  return new ServiceError("payload_too_large", {
    detail: `Maximum size of a report is ${MAX_FILE_BYTES / 1024 / 1024} MiB. Send it in parts.`,
  });
}

export type ReconciliationView = ReturnType<typeof view>;

function view(reconciliation: db.Reconciliation) {
  const { results, days, columns = null } = reconciliation.summary!;
  const { queued_checks, created_at, finished_at, ...summary } = viewSummary({
    ...reconciliation,
    results,
  });
  return {
    ...summary,
    columns: columns as ReportColumn[] | null,
    days: reconciliation.status !== "succeeded" ? null : days.map((day) => ({
      date: day.date,
      lines: day.lines,
      gross_amount: formatMoney(day.gross),
      fee: formatCents(day.fee_cents),
      net_amount: formatCents(day.net_cents),
    })),
    queued_checks,
    created_at,
    finished_at,
  };
}

export type ReconciliationSummaryView = ReturnType<typeof viewSummary>;

function viewSummary(reconciliation: db.ListedReconciliation) {
  const { status, results, first_day, resolved_count } = reconciliation;
  const differences = db.DIFFERENCES.reduce((sum, name) => sum + (results[name] ?? 0), 0);
  return {
    id: reconciliation.id,
    job_id: reconciliation.job_id!,
    user_id: reconciliation.user_id,
    status: status as (typeof db.RECONCILIATION_STATUSES)[number],
    lines: reconciliation.line_count,
    first_day,
    last_day: reconciliation.last_day,
    results: status !== "succeeded" ? null : {
      ...results,
      listed_twice: results.listed_twice,
      missing_there: first_day === null ? null : results.missing_there,
    },
    open_differences: status !== "succeeded" ? null : differences - resolved_count,
    queued_checks: reconciliation.queued_checks,
    created_at: reconciliation.created_at.toISOString(),
    finished_at: reconciliation.finished_at?.toISOString() ?? null,
  };
}

async function findOrThrow({ database }: Service, id: string): Promise<db.Reconciliation> {
  const found = await database.query(
    (sql) => db.findReconciliation(sql, id),
    "find reconciliation",
  );
  if (!found) throw new ServiceError("not_found");
  return found;
}

export async function readReconciliation(
  service: Service,
  caller: Caller,
  id: string,
): Promise<ReconciliationView> {
  requireReadAll(caller);
  return view(await findOrThrow(service, id));
}

export interface ReconciliationPage {
  reconciliations: ReconciliationSummaryView[];
  /** The `before` of the next page; null on the last page. */
  next: string | null;
}

/** Newest first. */
export async function listReconciliations(
  { database }: Service,
  caller: Caller,
  { before, limit }: { before: string | null; limit: number },
): Promise<ReconciliationPage> {
  requireReadAll(caller);
  const { rows, next } = await readPage(
    limit,
    (limit) =>
      database.query(
        (sql) => db.listReconciliations(sql, { before, limit }),
        "list reconciliations",
      ),
  );
  return { reconciliations: rows.map(viewSummary), next };
}

export type DifferenceView = ReturnType<typeof viewDifference>;

function viewDifference(line: lines.Difference) {
  return {
    id: line.line,
    line: line.line > 0 ? line.line : null,
    result: line.result as db.DifferenceResult,
    kind: line.kind,
    order_id: line.order_id,
    transaction_id: line.transaction_id,
    amount: line.line > 0 ? formatMoney(line.amount) : null,
    status: line.status,
    date: line.day,
    payment_id: line.payment_id,
    refund_id: line.refund_id,
    known_amount: line.known_amount === null ? null : formatMoney(line.known_amount),
    known_status: line.known_status,
    resolved_at: line.resolved_at?.toISOString() ?? null,
    resolved_by: line.resolved_by,
  };
}

/** In the order of the file; payments that are missing in it come first. */
export async function listDifferences(
  service: Service,
  caller: Caller,
  id: string,
  { limit, ...filter }: lines.DifferenceFilter,
): Promise<{ differences: DifferenceView[]; next: string | null }> {
  requireReadAll(caller);
  const { status } = await findOrThrow(service, id);
  if (status !== "succeeded") return { differences: [], next: null };
  const rows = await service.database.query(
    (sql) => lines.listDifferences(sql, id, { ...filter, limit: limit + 1 }),
    "list differences",
  );
  const page = rows.slice(0, limit);
  const next = rows.length > limit ? String(page.at(-1)!.line) : null;
  return { differences: page.map(viewDifference), next };
}

export async function readDifference(
  service: Service,
  caller: Caller,
  id: string,
  number: number,
): Promise<DifferenceView> {
  requireReadAll(caller);
  return viewDifference(await findDifference(service, id, number));
}

/** `number`: the `id` of the difference, which is unique in its reconciliation. */
export async function findDifference(
  service: Service,
  id: string,
  number: number,
): Promise<lines.Difference> {
  const { status } = await findOrThrow(service, id);
  const read = (sql: Sql) => lines.findDifference(sql, id, number);
  const found = status === "succeeded" && await service.database.query(read, "find difference");
  if (!found) throw new ServiceError("not_found");
  return found;
}

export interface MarkedDifference {
  difference: DifferenceView;
  /** False: it was marked so before, and nothing was changed. */
  isChanged: boolean;
}

/** Keeps who has resolved it first. */
export async function resolveDifference(
  service: Service,
  caller: Caller,
  id: string,
  number: number,
): Promise<MarkedDifference> {
  const resolution = { at: new Date(service.clock()), by: caller.userId };
  return await markDifference(service, caller, id, number, resolution);
}

export async function reopenDifference(
  service: Service,
  caller: Caller,
  id: string,
  number: number,
): Promise<MarkedDifference> {
  return await markDifference(service, caller, id, number, null);
}

async function markDifference(
  service: Service,
  caller: Caller,
  id: string,
  number: number,
  resolution: { at: Date; by: string } | null,
): Promise<MarkedDifference> {
  requireStaff(caller);
  // Until the file is compared, its lines are no differences yet.
  await readDifference(service, caller, id, number);
  const isChanged = await service.database.query(
    (sql) => lines.markDifference(sql, id, number, resolution),
    "mark difference",
  );
  return { difference: await readDifference(service, caller, id, number), isChanged };
}
