/** `readPaymentStats`: payment statistics by interval, from the stored hourly and daily figures. */

import type { Database } from "../../db/connection/database.ts";
import {
  findProgress,
  readStats,
  type StatsGroup,
  type StatsPart,
  type StatsRow,
  type StatsTable,
} from "../../db/reports/stats.ts";
import { type Caller, canReadAll, requireReadAll } from "../auth/caller.ts";
import type { Clock } from "../time/clock.ts";
import { invalidField, ServiceError } from "../errors.ts";
import { formatCents, formatMoney, minusFees } from "../money.ts";
import { ownerFor } from "../records/read.ts";
import { startOfJakartaDay } from "./count_payments.ts";
import { medianSeconds } from "./pay_times.ts";
import { type RangeInput, readRange, successRate } from "./range.ts";

export { STATS_GROUPS, STATS_INTERVALS } from "../../db/reports/stats.ts";

export interface StatsInput extends RangeInput {
  group_by: readonly StatsGroup[];
}

export interface StatsOptions {
  /** False: `median_seconds_to_pay` is null. Computing it takes most of the time. */
  withMedian?: boolean;
}

export type StatsView = Awaited<ReturnType<typeof readPaymentStats>>;

/** The most rows of a response. */
const MAX_ROWS = 5_000;

const HOUR_MS = 60 * 60_000;

const RETRY_SECONDS = 60;

export async function readPaymentStats(
  { database, clock }: { database: Database; clock: Clock },
  caller: Caller,
  { group_by: groups, ...range }: StatsInput,
  { withMedian = true }: StatsOptions = {},
) {
  if (groups.includes("user_id") && !canReadAll(caller)) {
    throw new ServiceError("forbidden", {
      detail:
        "group_by: only staff and viewers can group by user_id. Remove it, or use a staff or " +
        "viewer credential.",
    });
  }
  const { from, to, interval, starts, edges } = readRange(range, clock());
  const parts = interval === "hour" ? between(edges, "hourly_payment_stats") : findParts(edges);
  const query = { owner: ownerFor(caller), parts, groups };
  const { as_of } = await database.query(findProgress, "find stats progress");
  if (as_of === null) throw notReady();
  const rows = await database.query(
    (sql) => readStats(sql, { ...query, limit: MAX_ROWS }, withMedian),
    "read stats",
  );
  if (rows.length > MAX_ROWS) {
    throw invalidField("group_by", `gives more than ${MAX_ROWS} rows; use a longer interval`);
  }
  return {
    as_of: as_of.toISOString(),
    from: from.toISOString(),
    to: to.toISOString(),
    interval,
    time_zone: range.time_zone,
    group_by: [...groups],
    rows: rows.map((row) => ({
      start: starts[row.interval_index]!.toISOString(),
      ...groups.includes("payment_type") && { payment_type: row.payment_type },
      ...groups.includes("bank") && { bank: row.bank || null },
      ...groups.includes("transaction_status") && { transaction_status: row.transaction_status },
      ...groups.includes("user_id") && { user_id: userOf(row.scope) },
      count: row.created_count,
      paid_count: row.paid_count,
      success_rate: successRate(row.paid_count, row.created_count),
      gross_amount: formatMoney(row.gross_amount),
      refund_amount: formatMoney(row.refund_amount),
      chargeback_amount: formatMoney(row.chargeback_amount),
      net_amount: formatMoney(netOf(row)),
      fee_amount: canReadAll(caller) ? formatCents(row.fee_cents) : null,
      payout_amount: canReadAll(caller) ? minusFees(netOf(row), row.fee_cents) : null,
      median_seconds_to_pay: row.pay_times && medianSeconds(row.pay_times),
    })),
  };
}

function netOf({ gross_amount, refund_amount, chargeback_amount }: StatsRow): number {
  return gross_amount - refund_amount - chargeback_amount;
}

/** Up to when changes are counted; null until all payments are counted. For staff and viewers. */
export async function readStatsTime(
  { database }: { database: Database },
  caller: Caller,
): Promise<Date | null> {
  requireReadAll(caller);
  const { as_of } = await database.query(findProgress, "find stats progress");
  return as_of;
}

function userOf(users: string): string | null {
  return users.startsWith("u:") ? users.slice(2) : null;
}

/** The first count of all payments, or a count that an operator has started, is not finished. */
function notReady(): ServiceError {
  return new ServiceError("unavailable", {
    detail: "The statistics are being computed from all payments. " +
      `Retry in ${RETRY_SECONDS} s; GET /status/ shows the progress of update_stats.`,
    headers: { "Retry-After": String(RETRY_SECONDS) },
    isExpected: true,
  });
}

/**
 * There are far fewer rows by day than by hour. So each edge of an interval is rounded to the
 * nearest midnight in Jakarta, and the days between the rounded edges are read. In addition, the
 * hours between an edge and its midnight are read: they move from the interval on one side of the
 * edge to the other.
 */
function findParts(edges: Date[]): StatsPart[] {
  const midnights = edges.map((edge) => new Date(startOfJakartaDay(edge.getTime() + 12 * HOUR_MS)));
  const moved = edges.map((edge, index): StatsPart => {
    const midnight = midnights[index]!;
    const before = index === 0 ? null : index - 1;
    const after = index === edges.length - 1 ? null : index;
    return {
      table: "hourly_payment_stats",
      ...edge < midnight
        ? { from: edge, to: midnight, added_to: after, subtracted_from: before }
        : { from: midnight, to: edge, added_to: before, subtracted_from: after },
    };
  });
  return [...between(midnights, "daily_payment_stats"), ...moved].filter(({ from, to }) =>
    from < to
  );
}

/** Each interval is the time from one edge to the next. */
function between(edges: Date[], table: StatsTable): StatsPart[] {
  return edges.slice(1).map((to, index) => (
    { table, from: edges[index]!, to, added_to: index, subtracted_from: null }
  ));
}
