/** Reconciliations and the lines of their files: the statements that store, compare and read them. */

import type { Sql } from "./database.ts";
import type { GatewayPayment, GatewayRefund } from "./payments.ts";

export const RECONCILIATION_STATUSES = ["queued", "running", "succeeded"] as const;

export const LINE_RESULTS = [
  "matched",
  "amount_differs",
  "status_differs",
  "missing_here",
  "missing_there",
] as const;

export type LineResult = (typeof LINE_RESULTS)[number];

export const DIFFERENCES = LINE_RESULTS.filter((result) => result !== "matched");

export interface ReconciliationSummary {
  results: Record<LineResult, number>;
  days: {
    date: string | null;
    lines: number;
    gross: number;
    fee_cents: number;
    net_cents: number;
  }[];
}

export interface Reconciliation {
  id: string;
  user_id: string;
  status: (typeof RECONCILIATION_STATUSES)[number] | "uploading";
  job_id: string | null;
  line_count: number;
  compared_to: number;
  first_day: string | null;
  last_day: string | null;
  is_confirmed: boolean;
  queued_checks: number;
  summary: ReconciliationSummary | null;
  created_at: Date;
  finished_at: Date | null;
}

const COLUMNS = `id, user_id, status, job_id, line_count, compared_to, first_day::text,
  last_day::text, is_confirmed, queued_checks, summary, created_at, finished_at`;

export interface FileLine {
  line: number;
  kind: string;
  order_id: string | null;
  transaction_id: string | null;
  refund_key: string | null;
  status: string | null;
  amount: number;
  fee_cents: number | null;
  net_cents: number | null;
  day: string | null;
}

export interface ComparedLine extends FileLine {
  result: LineResult;
  payment_id: string | null;
  refund_id: string | null;
  known_amount: number | null;
  known_status: string | null;
}

/** Also deletes uploads that were interrupted more than a day ago. */
export async function beginUpload(
  sql: Sql,
  { id, user_id, is_confirmed, created_at }: Pick<
    Reconciliation,
    "id" | "user_id" | "is_confirmed" | "created_at"
  >,
): Promise<void> {
  await sql`
    with abandoned as (
      delete from gateway.reconciliations
      where status = 'uploading' and created_at < ${created_at}::timestamptz - interval '1 day'
      returning id
    ), lines as (
      delete from gateway.reconciliation_lines
      where reconciliation_id = any(array(select id from abandoned))
    )
    insert into gateway.reconciliations (id, user_id, status, is_confirmed, created_at)
    values (${id}, ${user_id}, 'uploading', ${is_confirmed}, ${created_at})`;
}

export async function insertLines(sql: Sql, id: string, lines: readonly FileLine[]): Promise<void> {
  const rows = lines.map((line) => ({ ...line, reconciliation_id: id }));
  await sql`
    insert into gateway.reconciliation_lines
    select * from json_populate_recordset(
      null::gateway.reconciliation_lines, ${JSON.stringify(rows)}::text::json)`;
}

/** Deletes an upload that is not used. */
export async function dropUpload(sql: Sql, id: string): Promise<void> {
  await sql`delete from gateway.reconciliation_lines where reconciliation_id = ${id}`;
  await sql`delete from gateway.reconciliations where id = ${id} and status = 'uploading'`;
}

export async function findByFile(sql: Sql, hash: Uint8Array): Promise<Reconciliation | null> {
  const [row] = await sql<[Reconciliation?]>`
    select ${sql.unsafe(COLUMNS)} from gateway.reconciliations
    where file_hash = ${hash} and status <> 'uploading'`;
  return row ?? null;
}

/** Throws a unique violation if another upload of the same file has ended first. */
export async function endUpload(
  sql: Sql,
  id: string,
  upload: {
    hash: Uint8Array;
    lineCount: number;
    firstDay: string | null;
    lastDay: string | null;
    jobId: string;
  },
): Promise<void> {
  await sql`
    update gateway.reconciliations set status = 'queued', file_hash = ${upload.hash},
      line_count = ${upload.lineCount}, first_day = ${upload.firstDay}::date,
      last_day = ${upload.lastDay}::date, job_id = ${upload.jobId}
    where id = ${id}`;
}

export async function findReconciliation(sql: Sql, id: string): Promise<Reconciliation | null> {
  const [row] = await sql<[Reconciliation?]>`
    select ${sql.unsafe(COLUMNS)} from gateway.reconciliations
    where id = ${id} and status <> 'uploading'`;
  return row ?? null;
}

export async function listLines(
  sql: Sql,
  id: string,
  after: number,
  limit: number,
): Promise<FileLine[]> {
  return await sql<FileLine[]>`
    select line, kind, order_id, transaction_id, refund_key, status, amount, fee_cents, net_cents,
      day::text
    from gateway.reconciliation_lines where reconciliation_id = ${id} and line > ${after}
    order by line limit ${limit}`;
}

type LinePayment = Pick<
  GatewayPayment,
  | "id"
  | "order_id"
  | "transaction_id"
  | "transaction_status"
  | "gross_amount"
  | "captured_amount"
  | "refunded_amount"
  | "chargeback_amount"
>;

/** A payment that a line may be about. */
export interface LineCandidate extends LinePayment {
  line: number;
  refunds: Pick<GatewayRefund, "id" | "refund_key" | "amount" | "status">[];
}

/**
 * The payment of each line: by its transaction id, or by its order id if the line has no transaction id.
 * Several payments can have the same order id; the one that was paid is chosen.
 */
export async function findCandidates(
  sql: Sql,
  lines: readonly FileLine[],
): Promise<LineCandidate[]> {
  const wanted = lines.map(({ line, order_id, transaction_id }) => ({
    line,
    order_id,
    transaction_id,
  }));
  return await sql<LineCandidate[]>`
    select wanted.line, payment.id, payment.order_id, payment.transaction_id,
      payment.transaction_status, payment.gross_amount, payment.captured_amount,
      payment.refunded_amount, payment.chargeback_amount,
      coalesce((select json_agg(json_build_object('id', refund.id,
          'refund_key', refund.refund_key, 'amount', refund.amount, 'status', refund.status)
          order by (refund.created_at, refund.id))
        from gateway.refunds refund where refund.payment_id = payment.id), '[]') as refunds
    from json_to_recordset(${JSON.stringify(wanted)}::text::json) as wanted(
      line integer, order_id text, transaction_id text)
    cross join lateral (
      select * from (
        select * from gateway.payments known where known.transaction_id = wanted.transaction_id
        union all
        select * from gateway.payments known
        where wanted.transaction_id is null and known.order_id = wanted.order_id
      ) candidate
      order by (captured_amount is null), id desc limit 1
    ) payment`;
}

/** The refunds that earlier lines of the file are about. */
export async function listUsedRefunds(
  sql: Sql,
  id: string,
  paymentIds: readonly string[],
): Promise<string[]> {
  const rows = await sql<{ refund_id: string }[]>`
    select refund_id from gateway.reconciliation_lines
    where reconciliation_id = ${id} and payment_id = any(${sql.array([...paymentIds])}::uuid[])
      and refund_id is not null`;
  return rows.map(({ refund_id }) => refund_id);
}

/** Stores the results of lines, and the progress in the reconciliation and in its job. */
export async function storeResults(
  sql: Sql,
  { id, job_id, line_count }: Reconciliation,
  lines: readonly ComparedLine[],
  done: number,
): Promise<void> {
  await sql`
    update gateway.reconciliation_lines line set result = compared.result,
      payment_id = compared.payment_id, refund_id = compared.refund_id,
      known_amount = compared.known_amount, known_status = compared.known_status
    from json_populate_recordset(
      null::gateway.reconciliation_lines, ${JSON.stringify(lines)}::text::json) compared
    where line.reconciliation_id = ${id} and line.line = compared.line`;
  await sql`
    update gateway.reconciliations set status = 'running', compared_to = ${lines.at(-1)!.line}
    where id = ${id}`;
  const progress = JSON.stringify({
    reconciliation_id: id,
    compared_lines: done,
    lines: line_count,
  });
  await sql`
    update gateway.jobs set result = ${progress}::text::json
    where id = ${job_id} and status = 'running'`;
}

export async function countCompared(sql: Sql, id: string): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*) from gateway.reconciliation_lines
    where reconciliation_id = ${id} and line > 0 and result is not null`;
  return row.count;
}

export interface SettledPosition {
  settlement_time: Date;
  payment_id: string;
}

/** A page of the payments settled in a period, in the order of time. Missing: not in the file. */
export async function listSettled(
  sql: Sql,
  id: string,
  after: SettledPosition,
  end: Date,
  limit: number,
): Promise<(SettledPosition & LinePayment & { is_missing: boolean })[]> {
  return await sql`
    select settled.settlement_time, settled.payment_id, payment.id, payment.order_id,
      payment.transaction_id, payment.transaction_status, payment.gross_amount,
      payment.captured_amount, payment.refunded_amount, payment.chargeback_amount,
      payment.captured_amount is not null and (
        select line from gateway.reconciliation_lines
        where reconciliation_id = ${id} and payment_id = settled.payment_id
        order by reconciliation_id, payment_id limit 1) is null as is_missing
    from (
      select settlement_time, payment_id from gateway.payment_filters
      where (settlement_time, payment_id) > (${after.settlement_time}, ${after.payment_id}::uuid)
        and settlement_time < ${end} and settlement_time is not null
      order by settlement_time, payment_id limit ${limit}
    ) settled
    cross join lateral (
      select * from gateway.payments where id = settled.payment_id limit 1
    ) payment
    order by settled.settlement_time, settled.payment_id`;
}

export async function insertMissing(
  sql: Sql,
  id: string,
  lines: readonly Omit<ComparedLine, "fee_cents" | "net_cents">[],
): Promise<void> {
  const rows = lines.map((line) => ({ ...line, reconciliation_id: id }));
  await sql`
    insert into gateway.reconciliation_lines
    select * from json_populate_recordset(
      null::gateway.reconciliation_lines, ${JSON.stringify(rows)}::text::json)`;
}

/** Deletes the lines of missing payments. An interrupted run may have inserted some of them. */
export async function deleteMissing(sql: Sql, id: string): Promise<void> {
  await sql`
    delete from gateway.reconciliation_lines where reconciliation_id = ${id} and line < 0`;
}

/** Payments with differences, for checks at the gateway. */
export async function listDifferent(
  sql: Sql,
  id: string,
  limit: number,
): Promise<{ id: string; user_id: string | null }[]> {
  return await sql`
    select payment.id, payment.user_id from (
      select distinct payment_id from gateway.reconciliation_lines
      where reconciliation_id = ${id} and result <> 'matched' and payment_id is not null
      order by payment_id limit ${limit}
    ) different
    cross join lateral (
      select * from gateway.payments where id = different.payment_id limit 1
    ) payment`;
}

export async function summarize(sql: Sql, id: string): Promise<ReconciliationSummary> {
  const [counts, days] = await Promise.all([
    sql<{ result: LineResult; count: number }[]>`
      select result, count(*) from gateway.reconciliation_lines
      where reconciliation_id = ${id} group by result`,
    sql<ReconciliationSummary["days"]>`
      select day::text as date, count(*) as lines,
        sum(case when kind in ('refund', 'chargeback') then -amount
          when kind = 'settlement' then amount else 0 end)::bigint as gross,
        coalesce(sum(fee_cents), 0)::bigint as fee_cents,
        coalesce(sum(net_cents), 0)::bigint as net_cents
      from gateway.reconciliation_lines where reconciliation_id = ${id} and line > 0
      group by day order by day`,
  ]);
  const zero = LINE_RESULTS.map((result) => [result, 0]);
  const found = counts.map(({ result, count }) => [result, count]);
  return { results: Object.fromEntries([...zero, ...found]), days: [...days] };
}

export async function endReconciliation(
  sql: Sql,
  id: string,
  end: { summary: ReconciliationSummary; queuedChecks: number; now: Date },
): Promise<void> {
  await sql`
    update gateway.reconciliations set status = 'succeeded', finished_at = ${end.now},
      queued_checks = ${end.queuedChecks}, summary = ${JSON.stringify(end.summary)}::text::json
    where id = ${id}`;
}

/** Returns how many were deleted. */
export async function deleteMatched(sql: Sql, id: string, limit: number): Promise<number> {
  const { count } = await sql`
    delete from gateway.reconciliation_lines
    where reconciliation_id = ${id} and line = any(array(
      select line from gateway.reconciliation_lines
      where reconciliation_id = ${id} and result = 'matched' order by line limit ${limit}))`;
  return count;
}

export async function listDifferences(
  sql: Sql,
  { id, result, after, limit }: {
    id: string;
    result: LineResult | null;
    after: number | null;
    limit: number;
  },
): Promise<ComparedLine[]> {
  return await sql<ComparedLine[]>`
    select line, kind, order_id, transaction_id, refund_key, status, amount, fee_cents, net_cents,
      day::text, result, payment_id, refund_id, known_amount, known_status
    from gateway.reconciliation_lines
    where reconciliation_id = ${id} and line > ${after ?? -2147483648}
      and result <> 'matched' and (${result}::text is null or result = ${result})
    order by line limit ${limit}`;
}
