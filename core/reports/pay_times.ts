/**
 * How long customers take to pay, as a histogram: the histograms of several hours can be added up,
 * but medians cannot. Each range ends at 1.41 times the end of the previous one.
 */

/** The last range has no end; it begins at about 6.1 days. */
export const PAY_TIME_RANGES = 40;

/** The end of range 0, in seconds. */
const FIRST_END = 1;

const FACTOR = Math.SQRT2;

export function payTimeRange(seconds: number): number {
  if (seconds < FIRST_END) return 0;
  const range = 1 + Math.floor(Math.log(seconds / FIRST_END) / Math.log(FACTOR));
  return Math.min(range, PAY_TIME_RANGES - 1);
}

/** Assumes that the payments of a range are evenly spread over it; null if there are no payments. */
export function medianSeconds(counts: readonly number[]): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let before = 0;
  for (const [range, count] of counts.entries()) {
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
