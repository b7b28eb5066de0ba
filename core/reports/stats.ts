/** `readPaymentStats`: payment statistics by interval, from the stored hourly and daily figures. */

import type { Database } from "../../db/connection/database.ts";
import {
  findProgress,
  readStats,
  type StatsGroup,
  type StatsInterval,
  type StatsPart,
  type StatsTable,
} from "../../db/reports/stats.ts";
import { type Caller, canReadAll, requireReadAll } from "../auth/caller.ts";
import type { Clock } from "../time/clock.ts";
import { invalidField, ServiceError } from "../errors.ts";
import { END_OF_TIMES, YEARS_RULE } from "../fields/input.ts";
import { formatMoney } from "../money.ts";
import { ownerFor } from "../records/read.ts";
import { startOfJakartaDay } from "./count_payments.ts";
import { medianSeconds } from "./pay_times.ts";

export { STATS_GROUPS, STATS_INTERVALS } from "../../db/reports/stats.ts";

export interface StatsInput {
  /** A day, such as `2026-03-05`, or a time; missing: 30 days before `to`. */
  from?: string;
  /** Exclusive; in the format of `from`. Missing: the end of the current hour. */
  to?: string;
  interval: StatsInterval;
  time_zone: string;
  group_by: readonly StatsGroup[];
}

export interface StatsOptions {
  /** False: `median_seconds_to_pay` is null. Computing it takes most of the time. */
  withMedian?: boolean;
}

export type StatsView = Awaited<ReturnType<typeof readPaymentStats>>;

/** The most rows of a response, and the most intervals of a request. */
const MAX_ROWS = 5_000;
const MAX_INTERVALS = 1_000;

const INTERVAL_HOURS = { hour: 1, day: 24, week: 168, month: 672 };

const HOUR_MS = 60 * 60_000;

const DEFAULT_DAYS = 30;

const RETRY_SECONDS = 60;

/**
 * PostgreSQL rejects the years of JavaScript that have a sign. The last day of 1969 is included,
 * because 1970 in Jakarta begins on that day in UTC.
 */
const FIRST_TIME = new Date(Date.UTC(1969, 11, 31));

export async function readPaymentStats(
  { database, clock }: { database: Database; clock: Clock },
  caller: Caller,
  { interval, time_zone: timeZone, group_by: groups, ...range }: StatsInput,
  { withMedian = true }: StatsOptions = {},
) {
  if (groups.includes("user_id") && !canReadAll(caller)) {
    throw new ServiceError("forbidden", {
      detail:
        "group_by: only staff and viewers can group by user_id. Remove it, or use a staff or " +
        "viewer credential.",
    });
  }
  requireZone(timeZone);
  const to = range.to === undefined
    ? new Date(Math.ceil(clock() / HOUR_MS) * HOUR_MS)
    : parseHour("to", range.to, timeZone);
  const from = range.from === undefined
    ? new Date(to.getTime() - DEFAULT_DAYS * 24 * HOUR_MS)
    : parseHour("from", range.from, timeZone);
  if (from >= to) throw invalidField("to", "must be later than from");
  if ((to.getTime() - from.getTime()) / HOUR_MS / INTERVAL_HOURS[interval] > MAX_INTERVALS) {
    throw invalidField("interval", `gives more than ${MAX_INTERVALS} intervals; use a longer one`);
  }
  const starts = listStarts(from, to, interval, timeZone);
  const edges = [from, ...starts.slice(1), to];
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
    time_zone: timeZone,
    group_by: [...groups],
    rows: rows.map((row) => ({
      start: starts[row.interval_index]!.toISOString(),
      ...groups.includes("payment_type") && { payment_type: row.payment_type },
      ...groups.includes("bank") && { bank: row.bank || null },
      ...groups.includes("transaction_status") && { transaction_status: row.transaction_status },
      ...groups.includes("user_id") && { user_id: userOf(row.scope) },
      count: row.created_count,
      paid_count: row.paid_count,
      success_rate: row.created_count === 0
        ? null
        : Math.round(row.paid_count / row.created_count * 10_000) / 10_000,
      gross_amount: formatMoney(row.gross_amount),
      refund_amount: formatMoney(row.refund_amount),
      chargeback_amount: formatMoney(row.chargeback_amount),
      net_amount: formatMoney(row.gross_amount - row.refund_amount - row.chargeback_amount),
      median_seconds_to_pay: row.pay_times && medianSeconds(row.pay_times),
    })),
  };
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

function requireZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat("en", { timeZone });
    zonedTime(new Date(0), timeZone);
  } catch {
    throw invalidField("time_zone", "must be a time zone such as Asia/Jakarta, or UTC");
  }
}

function parseHour(field: string, text: string, timeZone: string): Date {
  const time = parseTime(text, timeZone);
  if (time === null) {
    throw invalidField(
      field,
      "must be a day such as 2026-03-05, or a time such as " +
        "2026-03-05T09:00:00+07:00",
    );
  }
  if (time < FIRST_TIME || time >= END_OF_TIMES) {
    throw invalidField(field, YEARS_RULE);
  }
  if (time.getTime() % HOUR_MS === 0) return time;
  if (isDay(text)) throw unsupportedZone();
  throw invalidField(field, "must be a full hour in UTC, such as 2026-03-05T09:00:00+07:00");
}

/** The figures are stored by hours of UTC, so no interval can begin at a half hour. */
function unsupportedZone(): ServiceError {
  return invalidField(
    "time_zone",
    "must differ from UTC by whole hours, because the figures are stored by hour; time zones such " +
      "as Asia/Kolkata (5.5 hours) are not supported. Use UTC or Asia/Jakarta",
  );
}

/** When the intervals begin. The first one can begin before `from`. */
export function listStarts(
  from: Date,
  to: Date,
  interval: StatsInterval,
  timeZone: string,
): Date[] {
  const starts: Date[] = [];
  let start = startOf(interval, zonedTime(from, timeZone));
  while (start.epochMilliseconds < to.getTime()) {
    if (start.offsetNanoseconds / 1e6 % HOUR_MS !== 0) throw unsupportedZone();
    starts.push(new Date(start.epochMilliseconds));
    start = startOf(interval, start.add({ [`${interval}s`]: 1 }));
  }
  return starts;
}

function zonedTime(time: Date, timeZone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(time.getTime()).toZonedDateTimeISO(timeZone);
}

/** Weeks begin on Monday. */
function startOf(interval: StatsInterval, time: Temporal.ZonedDateTime): Temporal.ZonedDateTime {
  if (interval === "hour") return time;
  if (interval === "week") return time.subtract({ days: time.dayOfWeek - 1 }).startOfDay();
  return (interval === "month" ? time.with({ day: 1 }) : time).startOfDay();
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

function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text);
}

function parseTime(text: string, timeZone: string): Date | null {
  try {
    const milliseconds = isDay(text)
      ? Temporal.PlainDate.from(text).toZonedDateTime(timeZone).epochMilliseconds
      // In a query, a plus sign that is not percent-encoded is a space.
      : Temporal.Instant.from(text.replace(/ (?=\d\d:\d\d$)/, "+")).epochMilliseconds;
    return new Date(milliseconds);
  } catch {
    return null;
  }
}
