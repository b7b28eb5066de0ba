/**
 * How long customers take to pay, as a histogram: the histograms of several hours can be added up,
 * but medians cannot. Each range ends at 1.1 times the end of the previous one.
 */

import type { PayTimes } from "../../db/reports/stats.ts";

/** The last range has no end; it begins after more than 200 days. */
const RANGES = 177;

/** The end of range 0, in seconds. */
const FIRST_END = 1;

const FACTOR = 1.1;

export function payTimeRange(seconds: number): number {
  if (seconds < FIRST_END) return 0;
  const range = 1 + Math.floor(Math.log(seconds / FIRST_END) / Math.log(FACTOR));
  return Math.min(range, RANGES - 1);
}

/**
 * Assumes that the payments of a range are evenly spread over it; null if there are no payments.
 */
export function medianSeconds(times: PayTimes): number | null {
  const total = times.values().reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let before = 0;
  for (const [range, count] of [...times].sort(([a], [b]) => a - b)) {
    if (before + count < total / 2) {
      before += count;
      continue;
    }
    const start = range === 0 ? 0 : FIRST_END * FACTOR ** (range - 1);
    const end = FIRST_END * FACTOR ** range;
    return Math.round(start + (end - start) * (total / 2 - before) / count);
  }
  return null;
}
