/** The figures of the overview, from the statistics of payments. Days are days in Jakarta. */

import { wholeRupiah } from "../shared/format.ts";
import type { Caller } from "../../core/auth/caller.ts";
import type { Service } from "../../core/service.ts";
import type { Clock } from "../../core/time/clock.ts";
import { readPaymentStats } from "../../core/reports/stats.ts";
import { MAX_SERIES } from "../shared/chart.tsx";

export const ZONE = "Asia/Jakarta";

/** The days of the chart, with today. */
export const CHART_DAYS = 30;

/** The figures of a day, in whole rupiah and numbers of payments. */
export interface DayFigures {
  paid: bigint;
  /** Payments created on this day. */
  count: number;
  /** Those of them that were paid, and those that are pending now. */
  paidCount: number;
  pending: number;
  refunds: bigint;
  chargebacks: bigint;
}

export interface Comparison {
  /** All changes until then are included. */
  asOf: string;
  /** Since midnight, with the hour that has begun. */
  today: DayFigures;
  /** Null: no hour of today has ended. */
  wholeHours: WholeHours | null;
}

/**
 * Each day from midnight to the end of the same hour. Only hours that have ended and are counted:
 * an hour that has just begun would be compared with a whole one.
 */
export interface WholeHours {
  /** The end of the last hour, such as `15:00`. */
  until: string;
  today: DayFigures;
  yesterday: DayFigures;
  /** The same day of last week. */
  lastWeek: DayFigures;
}

export async function readComparison(service: Service, caller: Caller): Promise<Comparison> {
  const { start, end } = today(service.clock);
  const read = async (daysAgo: number, end: Temporal.ZonedDateTime) =>
    await readPaymentStats(service, caller, {
      from: instantText(start.subtract({ days: daysAgo })),
      to: instantText(end.subtract({ days: daysAgo })),
      interval: "day",
      time_zone: ZONE,
      group_by: ["transaction_status"],
    });
  // One after the other, so that the page never takes more than one connection of the pool.
  const { as_of, rows } = await read(0, end);
  const counted = Temporal.Instant.from(as_of).toZonedDateTimeISO(ZONE);
  const ended = Temporal.ZonedDateTime.compare(counted, end) < 0 ? counted : end;
  const until = ended.round({ smallestUnit: "hour", roundingMode: "floor" });
  const hasEnded = Temporal.ZonedDateTime.compare(until, start) > 0;
  return {
    asOf: as_of,
    today: addUp(rows),
    wholeHours: hasEnded
      ? {
        until: `${String(until.hour || 24).padStart(2, "0")}:00`,
        today: addUp((await read(0, until)).rows),
        yesterday: addUp((await read(1, until)).rows),
        lastWeek: addUp((await read(7, until)).rows),
      }
      : null,
  };
}

type Rows = Awaited<ReturnType<typeof readPaymentStats>>["rows"];

function addUp(rows: Rows): DayFigures {
  const sum = (name: "gross_amount" | "refund_amount" | "chargeback_amount") =>
    rows.reduce((sum, row) => sum + wholeRupiah(row[name]), 0n);
  const pending = rows.filter((row) => row.transaction_status === "pending");
  return {
    paid: sum("gross_amount"),
    count: rows.reduce((sum, { count }) => sum + count, 0),
    paidCount: rows.reduce((sum, { paid_count }) => sum + paid_count, 0),
    pending: pending.reduce((sum, { count }) => sum + count, 0),
    refunds: sum("refund_amount"),
    chargebacks: sum("chargeback_amount"),
  };
}

export interface Volumes {
  /** Midnight of each day, oldest first. */
  days: Date[];
  /** The paid amounts of each day by payment type, largest first; null: all other types. */
  series: { type: string | null; values: bigint[] }[];
}

export async function readVolumes(service: Service, caller: Caller): Promise<Volumes> {
  const { start, end } = today(service.clock);
  const days = Array.from(
    { length: CHART_DAYS },
    (_, index) => new Date(start.subtract({ days: CHART_DAYS - 1 - index }).epochMilliseconds),
  );
  const { rows } = await readPaymentStats(service, caller, {
    from: days[0]!.toISOString(),
    to: instantText(end),
    interval: "day",
    time_zone: ZONE,
    group_by: ["payment_type"],
  }, { withMedian: false });
  const byType = Map.groupBy(rows, ({ payment_type }) => payment_type!);
  const all = [...byType].map(([type, rows]) => ({ type, values: valuesOf(days, rows) }))
    .map((series) => ({ ...series, total: series.values.reduce((sum, each) => sum + each, 0n) }))
    .filter(({ total }) => total > 0n)
    .sort((a, b) => a.total < b.total ? 1 : -1);
  if (all.length <= MAX_SERIES) return { days, series: all };
  const shown = all.slice(0, MAX_SERIES - 1);
  const others = new Set(all.slice(MAX_SERIES - 1).map(({ type }) => type));
  const values = valuesOf(days, rows.filter(({ payment_type }) => others.has(payment_type!)));
  return { days, series: [...shown, { type: null, values }] };
}

function valuesOf(days: Date[], rows: Rows): bigint[] {
  return days.map((day) =>
    rows.filter(({ start }) => start === day.toISOString())
      .reduce((sum, { gross_amount }) => sum + wholeRupiah(gross_amount), 0n)
  );
}

/** From midnight to the end of this hour: the statistics have full hours. */
function today(clock: Clock): { start: Temporal.ZonedDateTime; end: Temporal.ZonedDateTime } {
  const now = Temporal.Instant.fromEpochMilliseconds(clock()).toZonedDateTimeISO(ZONE);
  const hour = now.round({ smallestUnit: "hour", roundingMode: "floor" });
  return { start: now.startOfDay(), end: hour.add({ hours: 1 }) };
}

function instantText(time: Temporal.ZonedDateTime): string {
  return time.toInstant().toString();
}
