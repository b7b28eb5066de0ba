/** Figures as they are read. */

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

export function perSecond(rates: number[], what = "requests"): string {
  return `${Math.round(median(rates)).toLocaleString("en")} ${what}/s`;
}

/** The middle of what two things measured in turns have to each other. */
export function ratio(values: number[], references: number[]): string {
  return median(values.map((value, round) => value / references[round]!)).toFixed(2);
}
