/**
 * Reconciliation: compares a report of the gateway with the payments here. An upload stores the lines of
 * the file; a job compares them. The file changes no payment: for each payment that differs, a
 * check at the gateway is queued. It uses the ids in the database, not those in the file.
 */

import { createHash } from "node:crypto";
import { NIL } from "uuid";
import { codeOf, UNIQUE_VIOLATION } from "../../db/database.ts";
import { insertJobs, JOB_RANKS } from "../../db/jobs.ts";
import * as db from "../../db/reconciliations.ts";
import { type Caller, requireReadAll, requireStaff } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import { newId } from "../ids.ts";
import { PostponeJob, type Task } from "../jobs/task.ts";
import { formatMoney } from "../money.ts";
import { newJob } from "../outbox.ts";
import { checkPaymentJob, type PaymentDeps } from "../payments/payment_record.ts";
import { compareLine } from "./compare_line.ts";
import { type ColumnNames, readReport } from "./report_file.ts";

export { DIFFERENCES, RECONCILIATION_STATUSES } from "../../db/reconciliations.ts";

export const RECONCILE = "reconcile";

export const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Lines that one statement stores or compares. */
const BATCH = 500;

/** The most checks that a file queues, without and with a confirmation, and their interval. */
export const MAX_CHECKS = 1_000;
const MAX_CONFIRMED_CHECKS = 100_000;
const CHECK_INTERVAL_MS = 1_000;

/** The time of one run. Then the job is postponed, before it reaches its own time limit. */
const MAX_RUN_MS = 45_000;

export interface UploadOptions {
  columns: ColumnNames;
  /** More than `MAX_CHECKS` checks may be queued. */
  isConfirmed: boolean;
}

/** `isNew` is false if the same file was uploaded before with the same columns. */
export async function uploadReport(
  deps: PaymentDeps,
  caller: Caller,
  file: ReadableStream<Uint8Array>,
  { columns, isConfirmed }: UploadOptions,
): Promise<{ reconciliation: ReconciliationView; isNew: boolean }> {
  requireStaff(caller);
  const { database, clock } = deps;
  const created_at = new Date(clock());
  const id = newId(created_at);
  const begin = { id, user_id: caller.userId, is_confirmed: isConfirmed, created_at };
  await database.query((sql) => db.beginUpload(sql, begin), "begin upload");
  try {
    const upload = await storeLines(deps, id, file, columns);
    const known = await database.query((sql) => db.findByFile(sql, upload.hash), "find file");
    if (known) {
      await dropUpload(deps, id);
      return { reconciliation: view(known), isNew: false };
    }
    const job = newJob(RECONCILE, { id, user_id: caller.userId }, { reconciliation_id: id }, {
      runAt: created_at,
      now: created_at,
    });
    const jobs = await database.transaction(async (sql) => {
      await db.endUpload(sql, id, { ...upload, jobId: job.id });
      return await insertJobs(sql, [job]);
    }, "end upload");
    for (const each of jobs) deps.jobQueue.enqueue(each);
    return { reconciliation: view(await findOrThrow(deps, id)), isNew: true };
  } catch (error) {
    await dropUpload(deps, id);
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error;
    throw new ServiceError("unavailable", {
      detail: "The same file was uploaded at the same time. Send it again to get its result.",
      headers: { "Retry-After": "1" },
      isExpected: true,
    });
  }
}

async function dropUpload({ database }: PaymentDeps, id: string): Promise<void> {
  await database.query((sql) => db.dropUpload(sql, id), "drop upload");
}

async function storeLines(
  { database }: PaymentDeps,
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
  let batch: db.FileLine[] = [];
  let lineCount = 0;
  let firstDay: string | null = null;
  let lastDay: string | null = null;
  const store = async () => {
    const lines = batch;
    batch = [];
    await database.query((sql) => db.insertLines(sql, id, lines), "insert lines");
  };
  for await (const line of readReport(counted, columns)) {
    lineCount++;
    if (line.day !== null) {
      if (firstDay === null || line.day < firstDay) firstDay = line.day;
      if (lastDay === null || line.day > lastDay) lastDay = line.day;
    }
    batch.push(line);
    if (batch.length === BATCH) await store();
  }
  if (batch.length > 0) await store();
  return { hash: hash.digest(), lineCount, firstDay, lastDay };
}

export function tooLarge(): ServiceError {
  return new ServiceError("payload_too_large", {
    detail: `Maximum size of a report is ${MAX_FILE_BYTES / 1024 / 1024} MiB. Send it in parts.`,
  });
}

export function createReconcile(deps: PaymentDeps): Task {
  return {
    retries: 5,
    firstDelayMs: 10_000,
    async run({ subject_id }, { stopping }) {
      const deadline = performance.now() + MAX_RUN_MS;
      const isOver = () => stopping.aborted || performance.now() > deadline;
      const found = await deps.database.query(
        (sql) => db.findReconciliation(sql, subject_id!),
        "find reconciliation",
      );
      if (!found) return null;
      if (!await compareLines(deps, found, isOver)) throw new PostponeJob(new Date(deps.clock()));
      const { id, line_count } = found;
      if (found.status !== "succeeded") await finish(deps, found);
      return { reconciliation_id: id, compared_lines: line_count, lines: line_count };
    },
  };
}

/** Each batch is a transaction, so that a later run can continue. False: lines are left. */
async function compareLines(
  { database }: PaymentDeps,
  reconciliation: db.Reconciliation,
  isOver: () => boolean,
): Promise<boolean> {
  const { id } = reconciliation;
  let after = reconciliation.compared_to;
  let done = await database.query((sql) => db.countCompared(sql, id), "count compared");
  while (!isOver()) {
    const lines = await database.query((sql) => db.listLines(sql, id, after, BATCH), "list lines");
    if (lines.length === 0) return true;
    done += lines.length;
    await database.transaction(async (sql) => {
      const candidates = await db.findCandidates(sql, lines);
      const byLine = new Map(candidates.map((each) => [each.line, each]));
      const paymentIds = [...new Set(candidates.map((each) => each.id))];
      const used = new Set(await db.listUsedRefunds(sql, id, paymentIds));
      const compared = lines.map((line) => ({
        ...line,
        ...compareLine(line, byLine.get(line.line), used),
      }));
      await db.storeResults(sql, reconciliation, compared, done);
    }, "compare lines");
    after = lines.at(-1)!.line;
  }
  return false;
}

async function finish(deps: PaymentDeps, reconciliation: db.Reconciliation): Promise<void> {
  const { database, clock } = deps;
  const { id } = reconciliation;
  await findMissing(deps, reconciliation);
  const queuedChecks = await queueChecks(deps, reconciliation);
  const summary = await database.query((sql) => db.summarize(sql, id), "summarize");
  const end = { summary, queuedChecks, now: new Date(clock()) };
  await database.query((sql) => db.endReconciliation(sql, id, end), "end reconciliation");
  const remove = () => database.query((sql) => db.deleteMatched(sql, id, 5_000), "delete matched");
  while (await remove() > 0);
}

/** Stores the payments that were settled on the days of the file, but are not in it. */
async function findMissing({ database }: PaymentDeps, reconciliation: db.Reconciliation) {
  const { id, first_day, last_day } = reconciliation;
  if (first_day === null || last_day === null) return;
  await database.query((sql) => db.deleteMissing(sql, id), "delete missing");
  const end = startOf(last_day, 1);
  let after: db.SettledPosition = { settlement_time: startOf(first_day, 0), payment_id: NIL };
  let line = 0;
  while (true) {
    const page = await database.query(
      (sql) => db.listSettled(sql, id, after, end, BATCH),
      "list settled payments",
    );
    const missing = page.filter(({ is_missing }) => is_missing).map((payment) => ({
      line: --line,
      kind: "settlement",
      order_id: payment.order_id,
      transaction_id: payment.transaction_id,
      refund_key: null,
      status: null,
      amount: payment.captured_amount!,
      day: dayOf(payment.settlement_time),
      result: "missing_there" as const,
      payment_id: payment.id,
      refund_id: null,
      known_amount: payment.captured_amount,
      known_status: payment.transaction_status,
    }));
    if (missing.length > 0) {
      await database.query((sql) => db.insertMissing(sql, id, missing), "insert missing");
    }
    if (page.length < BATCH) return;
    after = page.at(-1)!;
  }
}

const ZONE = "Asia/Jakarta";

function startOf(day: string, days: number): Date {
  const date = Temporal.PlainDate.from(day).add({ days });
  return new Date(date.toZonedDateTime(ZONE).epochMilliseconds);
}

function dayOf(time: Date): string {
  return Temporal.Instant.fromEpochMilliseconds(time.getTime()).toZonedDateTimeISO(ZONE)
    .toPlainDate().toString();
}

/** One check for each payment, with the lowest rank, one per second. */
async function queueChecks(
  { database, clock, jobQueue }: PaymentDeps,
  { id, is_confirmed }: db.Reconciliation,
): Promise<number> {
  const limit = is_confirmed ? MAX_CONFIRMED_CHECKS : MAX_CHECKS;
  const different = await database.query(
    (sql) => db.listDifferent(sql, id, limit),
    "list different payments",
  );
  const now = clock();
  for (let start = 0; start < different.length; start += BATCH) {
    const checks = different.slice(start, start + BATCH).map((payment, index) => ({
      ...checkPaymentJob(payment, new Date(now)),
      rank: JOB_RANKS.check,
      run_at: new Date(now + (start + index) * CHECK_INTERVAL_MS),
    }));
    const jobs = await database.query((sql) => insertJobs(sql, checks), "queue checks");
    for (const job of jobs) jobQueue.enqueue(job);
  }
  return different.length;
}

export type ReconciliationView = ReturnType<typeof view>;

function view(reconciliation: db.Reconciliation) {
  const { summary, line_count, first_day } = reconciliation;
  return {
    id: reconciliation.id,
    job_id: reconciliation.job_id!,
    status: reconciliation.status as (typeof db.RECONCILIATION_STATUSES)[number],
    lines: line_count,
    first_day,
    last_day: reconciliation.last_day,
    results: summary && {
      ...summary.results,
      missing_there: first_day === null ? null : summary.results.missing_there,
    },
    days: summary &&
      summary.days.map(({ date, lines, gross, fee_cents, net_cents }) => ({
        date,
        lines,
        gross_amount: formatMoney(gross),
        fee: formatCents(fee_cents),
        net_amount: formatCents(net_cents),
      })),
    queued_checks: reconciliation.queued_checks,
    created_at: reconciliation.created_at.toISOString(),
    finished_at: reconciliation.finished_at?.toISOString() ?? null,
  };
}

function formatCents(cents: number): string {
  const digits = String(Math.abs(cents)).padStart(3, "0");
  return `${cents < 0 ? "-" : ""}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

async function findOrThrow({ database }: PaymentDeps, id: string): Promise<db.Reconciliation> {
  const found = await database.query(
    (sql) => db.findReconciliation(sql, id),
    "find reconciliation",
  );
  if (!found) throw new ServiceError("not_found");
  return found;
}

export async function readReconciliation(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
): Promise<ReconciliationView> {
  requireReadAll(caller);
  return view(await findOrThrow(deps, id));
}

export type DifferenceView = ReturnType<typeof viewDifference>;

function viewDifference(line: db.ComparedLine) {
  return {
    line: line.line > 0 ? line.line : null,
    result: line.result as Exclude<db.LineResult, "matched">,
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
  };
}

/** In the order of the file; payments that are missing in it come first. */
export async function listDifferences(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
  filter: { result: db.LineResult | null; after: number | null; limit: number },
): Promise<{ differences: DifferenceView[]; next: string | null }> {
  requireReadAll(caller);
  const { status } = await findOrThrow(deps, id);
  if (status !== "succeeded") return { differences: [], next: null };
  const { limit } = filter;
  const rows = await deps.database.query(
    (sql) => db.listDifferences(sql, { id, ...filter, limit: limit + 1 }),
    "list differences",
  );
  const page = rows.slice(0, limit);
  const next = rows.length > limit ? String(page.at(-1)!.line) : null;
  return { differences: page.map(viewDifference), next };
}
