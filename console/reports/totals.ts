/** The figures of the page of reports: adds up the rows of the statistics. */

import { listStarts } from "../../core/reports/range.ts";
import type { StatsView } from "../../core/reports/stats.ts";
import type { Cell } from "../../core/reports/file_format.ts";

type StatsRow = StatsView["rows"][number];

export interface Totals {
  count: number;
  paid: number;
  /** In rupiah. */
  gross: number;
  refunded: number;
  chargedBack: number;
  net: number;
  /** In hundredths of a rupiah; 0 if no compared report names a fee. */
  feeCents: number;
}

export function addUp(rows: readonly StatsRow[]): Totals {
  const sum = (value: (row: StatsRow) => number | string) =>
    rows.reduce((total, row) => total + Number(value(row)), 0);
  return {
    count: sum((row) => row.count),
    paid: sum((row) => row.paid_count),
    gross: sum((row) => row.gross_amount),
    refunded: sum((row) => row.refund_amount),
    chargedBack: sum((row) => row.chargeback_amount),
    net: sum((row) => row.net_amount),
    feeCents: sum((row) => row.fee_amount?.replace(".", "") ?? 0),
  };
}

/** The totals of each group, the largest amount first. */
export function totalsByGroup(
  rows: readonly StatsRow[],
  nameOf: (row: StatsRow) => string,
): { name: string; totals: Totals }[] {
  return [...Map.groupBy(rows, nameOf)]
    .map(([name, ofGroup]) => ({ name, totals: addUp(ofGroup) }))
    .sort((a, b) => b.totals.gross - a.totals.gross || (a.name < b.name ? -1 : 1));
}

/** When each interval begins, including intervals without payments. */
export function startsOf({ from, to, interval, time_zone }: StatsView): string[] {
  return listStarts(new Date(from), new Date(to), interval, time_zone)
    .map((start) => start.toISOString());
}

/** The rows as a table for a spreadsheet, with the names of the API. Amounts are whole rupiah. */
export function csvRows({ rows, group_by, time_zone }: StatsView): Cell[][] {
  const header = [
    "start",
    ...group_by,
    ...["count", "paid_count", "success_rate", "gross_amount", "refund_amount"],
    ...["chargeback_amount", "net_amount", "median_seconds_to_pay", "fee_amount", "payout_amount"],
  ];
  return [
    header,
    ...rows.map((row) => [
      localTime(row.start, time_zone),
      ...group_by.map((group) => row[group] ?? null),
      ...[row.count, row.paid_count, row.success_rate],
      ...[row.gross_amount, row.refund_amount, row.chargeback_amount, row.net_amount].map(Number),
      row.median_seconds_to_pay,
      ...[row.fee_amount, row.payout_amount].map((amount) => amount && Number(amount)),
    ]),
  ];
}

/** When an interval begins: a day, or an hour as text, because its zone may not be WIB. */
export function startCell({ interval, time_zone }: StatsView, start: string): Cell {
  if (interval === "hour") return localTime(start, time_zone);
  return Temporal.Instant.from(start).toZonedDateTimeISO(time_zone).toPlainDate();
}

/** Such as `2026-11-16 00:00`, which spreadsheets read as a time. */
function localTime(iso: string, timeZone: string): string {
  const { year, month, day, hour } = Temporal.Instant.from(iso).toZonedDateTimeISO(timeZone);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${year}-${two(month)}-${two(day)} ${two(hour)}:00`;
}
