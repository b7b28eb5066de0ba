/** The range of a report: from when to when, in which time zone, and where its intervals begin. */

import type { StatsInterval } from "../../db/reports/stats.ts";
import { invalidField, type ServiceError } from "../errors.ts";
import { END_OF_TIMES, YEARS_RULE } from "../fields/input.ts";

export interface RangeInput {
  /** A day, such as `2026-03-05`, or a time; missing: 30 days before `to`. */
  from?: string;
  /** Exclusive; in the format of `from`. Missing: the end of the current hour. */
  to?: string;
  interval: StatsInterval;
  time_zone: string;
}

export interface ReportRange {
  from: Date;
  to: Date;
  interval: StatsInterval;
  /** When the intervals begin. The first one can begin before `from`. */
  starts: Date[];
  /** The range is divided at these times, which begin with `from` and end with `to`. */
  edges: Date[];
}

const MAX_INTERVALS = 1_000;

const INTERVAL_HOURS = { hour: 1, day: 24, week: 168, month: 672 };

const HOUR_MS = 60 * 60_000;

const DEFAULT_DAYS = 30;

/**
 * PostgreSQL rejects the years of JavaScript that have a sign. The last day of 1969 is included,
 * because 1970 in Jakarta begins on that day in UTC.
 */
const FIRST_TIME = new Date(Date.UTC(1969, 11, 31));

/** Throws a `validation_error` that names the wrong parameter. */
export function readRange(input: RangeInput, now: number): ReportRange {
  const { interval, time_zone: timeZone } = input;
  requireZone(timeZone);
  const to = input.to === undefined
    ? new Date(Math.ceil(now / HOUR_MS) * HOUR_MS)
    : parseHour("to", input.to, timeZone);
  const from = input.from === undefined
    ? new Date(to.getTime() - DEFAULT_DAYS * 24 * HOUR_MS)
    : parseHour("from", input.from, timeZone);
  if (from >= to) throw invalidField("to", "must be later than from");
  if ((to.getTime() - from.getTime()) / HOUR_MS / INTERVAL_HOURS[interval] > MAX_INTERVALS) {
    throw invalidField("interval", `gives more than ${MAX_INTERVALS} intervals; use a longer one`);
  }
  const starts = listStarts(from, to, interval, timeZone);
  return { from, to, interval, starts, edges: [from, ...starts.slice(1), to] };
}

/** The share of the records that were paid; null if there are none. */
export function successRate(paid: number, all: number): number | null {
  return all === 0 ? null : Math.round(paid / all * 10_000) / 10_000;
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

/** Figures of payments are stored by hours of UTC, so no interval can begin at a half hour. */
function unsupportedZone(): ServiceError {
  return invalidField(
    "time_zone",
    "must differ from UTC by whole hours; time zones such as Asia/Kolkata (5.5 hours) are not " +
      "supported. Use UTC or Asia/Jakarta",
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
