/** Days in Jakarta, as filters have them, and the times at which they begin and end. */

import { invalidField } from "../../core/errors.ts";

/** The beginning of a day in Jakarta. */
export function startOfDay(day: string): string {
  return `${day}T00:00:00+07:00`;
}

/** The beginning of the next day in Jakarta; an invalid day stays as it is, and is refused. */
export function endOfDay(day: string): string {
  const start = Date.parse(startOfDay(day));
  return Number.isNaN(start) ? day : new Date(start + 86_400_000).toISOString();
}

export interface DayRange {
  /** Days in Jakarta, such as `2026-11-16`; empty: no limit. */
  from: string;
  /** Inclusive. */
  to: string;
}

/** The range as times. `created_to` is exclusive: the beginning of the day after `to`. */
export function timesOf({ from, to }: DayRange): { created_from?: Date; created_to?: Date } {
  return {
    ...from && { created_from: parseDay("from", startOfDay(from)) },
    ...to && { created_to: parseDay("to", endOfDay(to)) },
  };
}

function parseDay(field: string, text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime()) || time.getTime() < 0) {
    throw invalidField(field, "must be a day such as 2026-11-16");
  }
  return time;
}
