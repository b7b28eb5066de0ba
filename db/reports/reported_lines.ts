/**
 * The settlements, refunds and chargebacks that files have listed. Lines that agree are deleted
 * from the lines of their file; they are kept here for the comparison with other files.
 */

import type { Sql } from "../connection/database.ts";
import type { ComparedLine, EarlierLine } from "./reconciliation_lines.ts";

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

/** Deletes some lines of a file. Returns whether there may be more. */
export async function deleteReported(sql: Sql, id: string, limit: number): Promise<boolean> {
  const { count } = await sql`
    delete from gateway.reported_lines where ctid = any(array(
      select ctid from gateway.reported_lines
      where reconciliation_id = ${id} order by reconciliation_id, line limit ${limit}))`;
  return count === limit;
}
