/**
 * The job that compares a report of the gateway with the payments here. The file changes no
 * payment: for each payment that differs, a check at the gateway is queued. The check uses the ids
 * in the database, not those in the file.
 */

import { MAX, NIL } from "uuid";
import type { Sql } from "../../db/connection/database.ts";
import {
  type DueJob,
  findJob,
  insertJobs,
  LANES,
  type NewJob,
  requeueJob,
} from "../../db/jobs/jobs.ts";
import * as lines from "../../db/reports/reconciliation_lines.ts";
import * as db from "../../db/reports/reconciliations.ts";
import { PostponeJob, type Task } from "../jobs/task.ts";
import { newJob } from "../records/new_job.ts";
import { checkPaymentJob } from "../payments/payment_record.ts";
import type { Service } from "../service.ts";
import { compareLine, MAX_LINES_OF_PAYMENT } from "./compare_line.ts";
import { storeFees } from "./fees.ts";

export const RECONCILE = "reconcile";

/** Lines that one transaction compares or deletes, and payments that one statement reads. */
const BATCH = 500;

/**
 * The maximum number of checks that a file queues, without and with a confirmation, and the time
 * between two checks.
 */
export const MAX_CHECKS = 1_000;
const MAX_CONFIRMED_CHECKS = 100_000;
const CHECK_INTERVAL_MS = 1_000;

/** The time of one run. Then the job is postponed, before it reaches its own time limit. */
const MAX_RUN_MS = 45_000;

export function newReconcileJob(
  { id, user_id }: Pick<db.Reconciliation, "id" | "user_id">,
  now: Date,
): NewJob {
  return newJob(RECONCILE, { id, user_id }, { reconciliation_id: id }, { runAt: now, now });
}

/**
 * Queues the job of a file again if the job has failed, or a new one if it was deleted: failed jobs
 * are deleted after their retention period. Null: the job is queued or running, or has succeeded.
 */
export async function queueAgain(
  { database, clock, jobQueue }: Service,
  file: db.Reconciliation,
): Promise<DueJob | null> {
  if (file.status === "succeeded") return null;
  const now = new Date(clock());
  const queued = await database.transaction(async (sql) => {
    const jobId = await db.lockJobId(sql, file.id);
    if (jobId === null) return null;
    const job = await findJob(sql, jobId);
    if (job) return await requeueJob(sql, jobId, now);
    const [inserted] = await insertJobs(sql, [newReconcileJob(file, now)]);
    await db.storeJobId(sql, file.id, inserted!.id);
    return inserted!;
  }, "queue reconciliation again");
  if (queued) jobQueue.enqueue(queued);
  return queued;
}

/** One run of the job. */
interface Run {
  service: Service;
  file: db.Reconciliation;
  /** As it is stored; each transaction that changes it replaces it. */
  summary: db.ReconciliationSummary;
  /** The number of the last line that has been compared. */
  lastComparedLine: number;
  /** Whether the rest is left to the next run. */
  isOver(): boolean;
}

export function createReconcile(service: Service): Task {
  return {
    retries: 5,
    firstDelayMs: 10_000,
    async run({ subject_id }, { stopping }) {
      const deadline = performance.now() + MAX_RUN_MS;
      const file = await service.database.query(
        (sql) => db.findReconciliation(sql, subject_id!),
        "find reconciliation",
      );
      if (!file) return null;
      const run: Run = {
        service,
        file,
        summary: file.summary!,
        lastComparedLine: file.compared_to,
        isOver: () => stopping.aborted || performance.now() > deadline,
      };
      const hasEnded = file.status === "succeeded" || await compareFile(run);
      if (!hasEnded) throw new PostponeJob(new Date(service.clock()));
      await queueConfirmed(run);
      const { id, line_count } = file;
      return { reconciliation_id: id, compared_lines: line_count, lines: line_count };
    },
  };
}

/**
 * Each step continues where an interrupted run has ended. False: something is left for the next
 * run.
 */
async function compareFile(run: Run): Promise<boolean> {
  return await compareLines(run) && await findMissing(run) && await deleteMatched(run) &&
    await end(run);
}

/**
 * Runs statements in a transaction, if the stored progress is still that of this run. A worker that
 * was paused has lost its lease: meanwhile another run may have continued the file, or ended it and
 * deleted the lines that agree. Then the job is postponed, and the next run starts from the stored
 * progress.
 */
async function write<T>(run: Run, work: (sql: Sql) => Promise<T>, name: string): Promise<T> {
  const { service: { database, clock }, file: { id } } = run;
  return await database.transaction(async (sql) => {
    const progress = { lastComparedLine: run.lastComparedLine, searched: run.summary.searched };
    const isCurrent = await db.lockProgress(sql, id, progress);
    if (!isCurrent) throw new PostponeJob(new Date(clock()));
    return await work(sql);
  }, name);
}

async function compareLines(run: Run): Promise<boolean> {
  const { service: { database }, file: { id } } = run;
  while (!run.isOver()) {
    const batch = await database.query(
      (sql) => lines.listLines(sql, id, run.lastComparedLine, BATCH),
      "list lines",
    );
    if (batch.length === 0) return true;
    await write(run, async (sql) => {
      const compared = await compareBatch(sql, id, batch);
      await lines.storeResults(sql, id, compared);
      await lines.insertReported(sql, id, compared);
      await storeFees(sql, id, compared);
      const results = { ...run.summary.results };
      for (const { result } of compared) results[result] = (results[result] ?? 0) + 1;
      await storeProgress(run, sql, { ...run.summary, results }, batch.at(-1)!.line);
    }, "compare lines");
  }
  return false;
}

async function compareBatch(
  sql: Sql,
  id: string,
  batch: lines.FileLine[],
): Promise<lines.ComparedLine[]> {
  const candidates = await lines.findCandidates(sql, batch);
  const byLine = new Map(candidates.map((each) => [each.line, each]));
  const paymentIds = [...new Set(candidates.map((each) => each.id))];
  const earlier = Map.groupBy([
    ...await lines.listCompared(sql, id, paymentIds, MAX_LINES_OF_PAYMENT),
    ...await lines.listOfOtherFiles(sql, id, paymentIds, MAX_LINES_OF_PAYMENT),
  ], ({ payment_id }) => payment_id);
  return batch.map((line) => {
    const candidate = byLine.get(line.line);
    const samePayment = earlier.get(candidate?.id ?? null) ?? [];
    const compared = { ...line, ...compareLine(line, candidate, samePayment) };
    if (lines.isCompared(compared)) {
      samePayment.push(compared);
      earlier.set(compared.payment_id, samePayment);
    }
    return compared;
  });
}

/**
 * The last step of a transaction, because it changes `run` before the commit. If the commit fails,
 * the job fails, and `run` is not used again.
 */
async function storeProgress(
  run: Run,
  sql: Sql,
  summary: db.ReconciliationSummary,
  lastComparedLine = run.lastComparedLine,
): Promise<void> {
  const { missing_there: _, ...ofLines } = summary.results;
  const comparedLines = Object.values(ofLines).reduce((sum, count = 0) => sum + count, 0);
  await db.storeProgress(sql, run.file, { lastComparedLine, comparedLines, summary });
  Object.assign(run, { summary, lastComparedLine });
}

/** Stores the payments that were settled on the days of the file, but are not in it. */
async function findMissing(run: Run): Promise<boolean> {
  const { service: { database }, file: { id, first_day, last_day } } = run;
  if (first_day === null || last_day === null || run.summary.results.missing_there === null) {
    return true;
  }
  const hasTypes = run.summary.columns?.includes("type") ?? false;
  const end = startOf(last_day, 1);
  const last = { settlement_time: end.toISOString(), payment_id: MAX };
  const first = { settlement_time: startOf(first_day, 0).toISOString(), payment_id: NIL };
  while (!run.isOver()) {
    const after = run.summary.searched ?? first;
    if (after.payment_id === last.payment_id) return true;
    const page = await database.query(
      (sql) => lines.listSettled(sql, id, { after, end, hasTypes, limit: BATCH }),
      "list settled payments",
    );
    const { results } = run.summary;
    const known = results.missing_there ?? 0;
    const missing = page.filter(({ is_missing }) => is_missing)
      .map((payment, index) => missingLine(payment, -(known + index + 1)));
    const searched = page.length < BATCH ? last : cursorOf(page.at(-1)!);
    // Also stored if the page is empty: otherwise another run could search again after this one has
    // deleted the lines that agree.
    await write(run, async (sql) => {
      if (missing.length > 0) await lines.insertLines(sql, id, missing);
      const missing_there = known + missing.length;
      const summary = { ...run.summary, results: { ...results, missing_there }, searched };
      await storeProgress(run, sql, summary);
    }, "store missing payments");
  }
  return false;
}

type SettledPayment = Awaited<ReturnType<typeof lines.listSettled>>[number];

function cursorOf({ exact_time, id }: SettledPayment): db.SettledCursor {
  return { settlement_time: exact_time, payment_id: id };
}

function missingLine(payment: SettledPayment, line: number): lines.ComparedLine {
  return {
    line,
    kind: "settlement",
    order_id: payment.order_id,
    transaction_id: payment.transaction_id,
    refund_key: null,
    status: null,
    amount: payment.captured_amount!,
    fee_cents: null,
    net_cents: null,
    day: dayOf(payment.settlement_time),
    result: "missing_there",
    payment_id: payment.id,
    refund_id: null,
    known_amount: payment.captured_amount,
    known_status: payment.transaction_status,
  };
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

/**
 * Only the differences are kept. No run needs the other lines after the end of the search is
 * stored.
 */
async function deleteMatched(
  { service: { database }, file: { id }, isOver }: Run,
): Promise<boolean> {
  for (let last: number | null = 0; !isOver();) {
    const step: lines.DeleteStep = { which: "matched", after: last, limit: BATCH };
    last = await database.query((sql) => lines.deleteLines(sql, id, step), "delete matched");
    if (last === null) return true;
  }
  return false;
}

async function end(run: Run): Promise<boolean> {
  const { service: { clock }, file } = run;
  const insert: InsertChecks = (checks) =>
    write(run, (sql) => insertJobs(sql, checks), "queue checks");
  const queuedChecks = await queueChecks(run.service, file, insert);
  const ended = { queuedChecks, now: new Date(clock()) };
  await write(run, (sql) => db.endReconciliation(sql, file.id, ended), "end reconciliation");
  return true;
}

/**
 * Queues the other checks if they were confirmed while or after the file was compared. If they were
 * confirmed before, `end` has queued them.
 */
async function queueConfirmed({ service, file }: Run): Promise<void> {
  if (file.is_confirmed && file.status !== "succeeded") return;
  const { database } = service;
  const ended = await database.query(
    (sql) => db.findReconciliation(sql, file.id),
    "find reconciliation",
  );
  if (!ended?.is_confirmed || ended.queued_checks < MAX_CHECKS) return;
  const insert: InsertChecks = (checks) =>
    database.query((sql) => insertJobs(sql, checks), "queue checks");
  const queuedChecks = await queueChecks(service, ended, insert);
  await database.query(
    (sql) => db.storeQueuedChecks(sql, file.id, queuedChecks),
    "store queued checks",
  );
}

/** Inserts checks and returns the queued jobs. */
type InsertChecks = (checks: NewJob[]) => Promise<DueJob[]>;

/**
 * Queues a check of each payment that differs, to run one per second. Skips the payments whose
 * checks an earlier run has queued: the order is the same. Returns how many are queued in all.
 */
async function queueChecks(
  { database, clock, jobQueue }: Service,
  { id, is_confirmed, queued_checks: earlier }: db.Reconciliation,
  insert: InsertChecks,
): Promise<number> {
  const limit = is_confirmed ? MAX_CONFIRMED_CHECKS : MAX_CHECKS;
  const now = clock();
  let queued = 0;
  let after: string = NIL;
  while (queued < limit) {
    const from = after;
    const different = await database.query(
      (sql) => lines.listDifferent(sql, id, from, Math.min(BATCH, limit - queued)),
      "list different payments",
    );
    if (different.length === 0) break;
    const first = Math.max(queued, earlier);
    const checks = different.slice(first - queued).map((payment, index) => ({
      ...checkPaymentJob(payment, new Date(now)),
      lane: LANES.checks,
      run_at: new Date(now + (first - earlier + index) * CHECK_INTERVAL_MS),
    }));
    const jobs = checks.length === 0 ? [] : await insert(checks);
    for (const job of jobs) jobQueue.enqueue(job);
    queued += different.length;
    after = different.at(-1)!.id;
  }
  return queued;
}

/** Allows more checks of a file that was uploaded before; they are queued in the background. */
export async function confirmChecks(
  { database, clock, jobQueue }: Service,
  id: string,
  userId: string,
): Promise<void> {
  const now = new Date(clock());
  const job = newReconcileJob({ id, user_id: userId }, now);
  const jobs = await database.transaction(async (sql) => {
    const isCompared = await db.confirmChecks(sql, id);
    // The job of the upload reads the confirmation after it has compared the file.
    return isCompared ? await insertJobs(sql, [job]) : [];
  }, "confirm checks");
  for (const each of jobs) jobQueue.enqueue(each);
}
