/**
 * The lines of reconciled files: the statements that store, compare, read and delete them. Lines
 * that agree are deleted from the lines of their file. The settlements, refunds and chargebacks
 * that they list stay in `gateway.reported_lines`, for the comparison with other files.
 */

import type { Sql } from "../connection/database.ts";
import type { GatewayPayment, GatewayRefund } from "../payments/payments.ts";
import type { DifferenceResult, LineResult, SettledCursor } from "./reconciliations.ts";

export const LINE_KINDS = ["settlement", "refund", "chargeback", "status"] as const;

/** A line of a report. */
export interface FileLine {
  /** As in an editor: the header is line 1. */
  line: number;
  /** `status`: the line only states the status of a transaction. */
  kind: (typeof LINE_KINDS)[number];
  order_id: string | null;
  transaction_id: string | null;
  refund_key: string | null;
  status: string | null;
  /** Whole rupiah; never negative. */
  amount: number;
  fee_cents: number | null;
  net_cents: number | null;
  /** The day in Jakarta, such as `2026-03-05`. */
  day: string | null;
}

const COLUMNS = `line, kind, order_id, transaction_id, refund_key, status, amount, fee_cents,
  net_cents, day::text`;

/**
 * A line, and the payment or refund that the service has stored for it. A payment that is missing
 * in the file gets a line, too, with a negative line number.
 */
export interface ComparedLine extends FileLine {
  result: LineResult;
  payment_id: string | null;
  refund_id: string | null;
  known_amount: number | null;
  known_status: string | null;
}

export async function insertLines(
  sql: Sql,
  id: string,
  lines: readonly (FileLine | ComparedLine)[],
): Promise<void> {
  const rows = lines.map((line) => ({ ...line, reconciliation_id: id }));
  await sql`
    insert into gateway.reconciliation_lines
    select * from json_populate_recordset(
      null::gateway.reconciliation_lines, ${JSON.stringify(rows)}::text::json)`;
}

export async function listLines(
  sql: Sql,
  id: string,
  after: number,
  limit: number,
): Promise<FileLine[]> {
  return await sql<FileLine[]>`
    select ${sql.unsafe(COLUMNS)}
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
 * The payment of each line: by its transaction id, or by its order id if the line or the payment
 * has no transaction id; a charge without a response has none. Several payments can have the same
 * order id; the one that was paid is chosen. A refused payment never gets a transaction.
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
        where known.order_id = wanted.order_id
          and (wanted.transaction_id is null
            or (known.transaction_id is null and not known.is_refused))
      ) candidate
      order by (captured_amount is null), (transaction_id is null), is_refused, id desc limit 1
    ) payment`;
}

/**
 * A line that was compared with a payment or refund. Lines that are listed twice are not among
 * them.
 */
export type EarlierLine = Pick<
  ComparedLine,
  "kind" | "transaction_id" | "status" | "amount" | "result" | "payment_id" | "refund_id"
>;

/** The condition of an index: change both together. */
const COMPARED_RESULTS: readonly LineResult[] = ["matched", "amount_differs", "status_differs"];

export function isCompared({ result }: EarlierLine): boolean {
  return COMPARED_RESULTS.includes(result);
}

/**
 * Lines of the file that were compared with these payments in earlier batches. Looks up each
 * payment, so that the plan does not depend on statistics: those of a new file, and of a restored
 * database, are missing.
 */
export async function listCompared(
  sql: Sql,
  id: string,
  paymentIds: readonly string[],
  limit: number,
): Promise<EarlierLine[]> {
  return await sql<EarlierLine[]>`
    select line.* from unnest(${[...paymentIds]}::uuid[]) wanted (id) cross join lateral (
      select kind, transaction_id, status, amount, result, payment_id, refund_id
      from gateway.reconciliation_lines
      where reconciliation_id = ${id} and payment_id = wanted.id
        and result in ('matched', 'amount_differs', 'status_differs')
      order by reconciliation_id, payment_id limit ${limit}
    ) line`;
}

/**
 * Stores the results of lines. Finds each line by the primary key: as long as PostgreSQL has no
 * statistics of a new file, a plain join would read all lines of the file for each result.
 */
export async function storeResults(
  sql: Sql,
  id: string,
  lines: readonly ComparedLine[],
): Promise<void> {
  await sql`
    update gateway.reconciliation_lines line set result = compared.result,
      payment_id = compared.payment_id, refund_id = compared.refund_id,
      known_amount = compared.known_amount, known_status = compared.known_status
    from (
      select found.ctid as place, each.* from json_populate_recordset(
        null::gateway.reconciliation_lines, ${JSON.stringify(lines)}::text::json) each
      cross join lateral (
        select ctid from gateway.reconciliation_lines
        where reconciliation_id = ${id} and line = each.line limit 1
      ) found
    ) compared
    where line.ctid = compared.place`;
}

interface SettledPayment extends LinePayment {
  settlement_time: Date;
  /** The same in microseconds, for `SettledCursor`. */
  exact_time: string;
  is_missing: boolean;
}

export interface SettledSearch {
  after: SettledCursor;
  end: Date;
  /** Whether the file says of each line what it is: a payment, a refund or a chargeback. */
  hasTypes: boolean;
  limit: number;
}

/**
 * A page of the payments settled in a period, in the order of time. `is_missing`: the payment was
 * captured, but the file has no line for it. Lines of its refunds and chargebacks do not count,
 * except in a report with one line per transaction: it has no types, and `refund` or `chargeback`
 * is the latest status of the transaction. The time in `after` is passed as text, because the
 * driver would round a `timestamptz` to milliseconds.
 */
export async function listSettled(
  sql: Sql,
  id: string,
  { after, end, hasTypes, limit }: SettledSearch,
): Promise<SettledPayment[]> {
  return await sql<SettledPayment[]>`
    select settled.settlement_time, payment.id, payment.order_id,
      to_char(settled.settlement_time at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
        as exact_time,
      payment.transaction_id, payment.transaction_status, payment.gross_amount,
      payment.captured_amount, payment.refunded_amount, payment.chargeback_amount,
      payment.captured_amount is not null and (
        select line from gateway.reconciliation_lines
        where reconciliation_id = ${id} and payment_id = settled.payment_id
          and (kind in ('settlement', 'status')
            or not ${hasTypes} and (status like '%refund%' or status like '%chargeback%'))
        order by reconciliation_id, payment_id limit 1) is null as is_missing
    from (
      select settlement_time, payment_id from gateway.payment_filters
      where (settlement_time, payment_id)
          > (${after.settlement_time}::text::timestamptz, ${after.payment_id}::uuid)
        and settlement_time < ${end} and settlement_time is not null
      order by settlement_time, payment_id limit ${limit}
    ) settled
    cross join lateral (
      select * from gateway.payments where id = settled.payment_id limit 1
    ) payment
    order by settled.settlement_time, settled.payment_id`;
}

/**
 * Payments with differences, for checks at the gateway: a page of them, in the order of their ids.
 * Call it after the lines that agree were deleted. Reads one index entry for each payment, however
 * many lines it has.
 */
export async function listDifferent(
  sql: Sql,
  id: string,
  after: string,
  limit: number,
): Promise<{ id: string; user_id: string | null }[]> {
  return await sql`
    with recursive different as (
      select (
        select payment_id from gateway.reconciliation_lines
        where reconciliation_id = ${id} and payment_id > ${after}
        order by reconciliation_id, payment_id limit 1) as payment_id
      union all
      select (
        select payment_id from gateway.reconciliation_lines
        where reconciliation_id = ${id} and payment_id > different.payment_id
        order by reconciliation_id, payment_id limit 1)
      from different where payment_id is not null
    )
    select payment.id, payment.user_id from (
      select payment_id from different where payment_id is not null limit ${limit}
    ) wanted
    cross join lateral (
      select * from gateway.payments where id = wanted.payment_id limit 1
    ) payment
    order by payment.id`;
}

export interface DeleteStep {
  which: "all" | "matched";
  /** Where the previous step has ended. */
  after: number;
  /** How many lines are read. */
  limit: number;
}

/**
 * Reads the next `limit` lines, and deletes all of them or those that agree. Returns the number of
 * the last line that was read; null: there are no more lines. Without `after`, PostgreSQL would
 * read the deleted lines again. It deletes by `ctid`: by line numbers, a plan that was made while
 * the table was empty uses the index of payments, and each call reads all lines of the file.
 */
export async function deleteLines(
  sql: Sql,
  id: string,
  { which, after, limit }: DeleteStep,
): Promise<number | null> {
  const [row] = await sql<[{ last: number | null }]>`
    with page as materialized (
      select ctid, line from gateway.reconciliation_lines
      where reconciliation_id = ${id} and line > ${after} order by line limit ${limit}
    ), deleted as (
      delete from gateway.reconciliation_lines
      where ctid = any(array(select ctid from page)) and (${which === "all"} or result = 'matched')
    )
    select max(line) as last from page`;
  return row.last;
}

/** A line that does not agree. */
export interface Difference extends ComparedLine {
  /** Null: it is open. */
  resolved_at: Date | null;
  resolved_by: string | null;
}

const DIFFERENCE_COLUMNS =
  `${COLUMNS}, result, payment_id, refund_id, known_amount, known_status, resolved_at, resolved_by`;

export interface DifferenceFilter {
  result: DifferenceResult | null;
  /** Null: resolved and open ones. */
  isResolved: boolean | null;
  /** The last line of the previous page. */
  after: number | null;
  limit: number;
}

export async function listDifferences(
  sql: Sql,
  id: string,
  { result, isResolved, after, limit }: DifferenceFilter,
): Promise<Difference[]> {
  return await sql<Difference[]>`
    select ${sql.unsafe(DIFFERENCE_COLUMNS)}
    from gateway.reconciliation_lines
    where reconciliation_id = ${id} and line > ${after ?? BEFORE_FIRST_LINE} and result <> 'matched'
      ${result === null ? sql`` : sql`and result = ${result}`}
      ${
    isResolved === null
      ? sql``
      : sql`and resolved_at ${isResolved ? sql`is not null` : sql`is null`}`
  }
    order by line limit ${limit}`;
}

export async function findDifference(
  sql: Sql,
  id: string,
  line: number,
): Promise<Difference | null> {
  const [row] = await sql<[Difference?]>`
    select ${sql.unsafe(DIFFERENCE_COLUMNS)}
    from gateway.reconciliation_lines
    where reconciliation_id = ${id} and line = ${line} and result <> 'matched'`;
  return row ?? null;
}

export interface Resolution {
  at: Date;
  by: string;
  /** The payment and the refund that the line is about, if they were taken over. */
  payment_id?: string;
  refund_id?: string | null;
}

/**
 * Marks a difference as resolved, or as open if `resolution` is null, and counts it. False: there
 * is no such difference, or it was marked so before. Of two requests at the same time, one changes
 * it.
 */
export async function markDifference(
  sql: Sql,
  id: string,
  line: number,
  resolution: Resolution | null,
): Promise<boolean> {
  const rows = await sql`
    with changed as (
      update gateway.reconciliation_lines
      set resolved_at = ${resolution?.at ?? null}, resolved_by = ${resolution?.by ?? null},
        payment_id = coalesce(${resolution?.payment_id ?? null}::uuid, payment_id),
        refund_id = coalesce(${resolution?.refund_id ?? null}::uuid, refund_id)
      where reconciliation_id = ${id} and line = ${line} and result <> 'matched'
        and resolved_at ${resolution ? sql`is null` : sql`is not null`}
      returning line
    )
    update gateway.reconciliations set resolved_count = resolved_count + ${resolution ? 1 : -1}
    where id = ${id} and exists (select from changed)
    returning id`;
  return rows.length > 0;
}

/** Below all line numbers. Payments that are missing in the file have negative line numbers. */
export const BEFORE_FIRST_LINE = -2_147_483_648;

/**
 * Lines of other files that agree with these payments. Lines that only state a status are not among
 * them: a report of each day may repeat them. `between` keeps the payment in the order, so that
 * only the primary key fits. With `=`, a plan that was made while the table was empty may use the
 * index of files, and reads all lines for each payment.
 */
export async function listOfOtherFiles(
  sql: Sql,
  id: string,
  paymentIds: readonly string[],
  limit: number,
): Promise<EarlierLine[]> {
  return await sql<EarlierLine[]>`
    select line.* from unnest(${[...paymentIds]}::uuid[]) wanted (id) cross join lateral (
      select kind, transaction_id, status, amount, result, payment_id, refund_id
      from gateway.reported_lines
      where payment_id between wanted.id and wanted.id and reconciliation_id <> ${id}
      order by payment_id, reconciliation_id, line limit ${limit}
    ) line`;
}

/** Lines of all files, except one line, that agree with a payment. */
export async function listReported(
  sql: Sql,
  paymentId: string,
  except: { reconciliation_id: string; line: number },
  limit: number,
): Promise<EarlierLine[]> {
  return await sql<EarlierLine[]>`
    select kind, transaction_id, status, amount, result, payment_id, refund_id
    from gateway.reported_lines
    where payment_id between ${paymentId} and ${paymentId}
      and (reconciliation_id <> ${except.reconciliation_id} or line <> ${except.line})
    order by payment_id, reconciliation_id, line limit ${limit}`;
}

/**
 * Keeps the lines that agree for the comparison with other files. A line with a difference can be
 * compared again by a later file. A difference that was taken over and then opened again is already
 * kept.
 */
export async function insertReported(
  sql: Sql,
  id: string,
  lines: readonly ComparedLine[],
): Promise<void> {
  const rows = lines.filter(({ result, kind }) => result === "matched" && kind !== "status")
    .map((line) => ({ ...line, reconciliation_id: id }));
  if (rows.length === 0) return;
  await sql`
    insert into gateway.reported_lines
    select * from json_populate_recordset(
      null::gateway.reported_lines, ${JSON.stringify(rows)}::text::json)
    on conflict do nothing`;
}

/**
 * Numbers chargebacks of a file among those of their payment that have the same amount, in all
 * files. They were inserted by `insertReported`. Returns the numbers by the lines of the file.
 */
export async function numberChargebacks(
  sql: Sql,
  id: string,
  lines: readonly ComparedLine[],
): Promise<Map<number, number>> {
  const paymentIds = [...new Set(lines.map(({ payment_id }) => payment_id!))];
  const rows = await sql<{ line: number; number: number }[]>`
    select line, number from unnest(${paymentIds}::uuid[]) wanted (id) cross join lateral (
      select reconciliation_id, line,
        row_number() over (partition by amount order by reconciliation_id, line)::int as number
      from gateway.reported_lines
      where payment_id between wanted.id and wanted.id and kind = 'chargeback'
    ) numbered
    where reconciliation_id = ${id}`;
  return new Map(rows.map(({ line, number }) => [line, number]));
}

/** Deletes some lines of a file. Returns whether there may be more. */
export async function deleteReported(sql: Sql, id: string, limit: number): Promise<boolean> {
  const { count } = await sql`
    delete from gateway.reported_lines where ctid = any(array(
      select ctid from gateway.reported_lines
      where reconciliation_id = ${id} order by reconciliation_id, line limit ${limit}))`;
  return count === limit;
}
