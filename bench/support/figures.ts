/** Statistics, and their output as text. */

/** Of an even number of values, the mean of the two in the middle. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.ceil(middle) - 1]! + sorted[Math.floor(middle)]!) / 2;
}

export function percentile(values: number[], percent: number): number {
  const index = Math.floor(values.length * percent / 100);
  return values.toSorted((a, b) => a - b)[index]!;
}

export function perSecond(rates: number[], unit = "requests"): string {
  return `${Math.round(median(rates)).toLocaleString("en")} ${unit}/s`;
}

/** Divides the values by the references of the same round, and returns the median. */
export function ratio(values: number[], references: number[]): string {
  return median(values.map((value, round) => value / references[round]!)).toFixed(2);
}

export function milliseconds(ms: number): string {
  return `${ms.toFixed(2)} ms`;
}

export function goal(text: string, isMet: boolean): string {
  return `goal: ${text}: ${isMet ? "met" : "missed"}`;
}

/** A goal that must be met even on a busy machine: if it is missed, the run fails. */
export function requiredGoal(text: string, isMet: boolean): string {
  if (!isMet) Deno.exitCode = 1;
  return goal(text, isMet);
}

/** One line of a table. */
export function row(name: string, figures: string[], remark = ""): string {
  const columns = figures.map((figure) => figure.padStart(20));
  return `${name.padEnd(52)}${columns.join("")}${remark && `   ${remark}`}`.trimEnd();
}
