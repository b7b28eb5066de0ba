/**
 * The gateway's times: Western Indonesian time (WIB, UTC+7), mostly without an offset in the text.
 */

const WIB_MS = 7 * 3_600_000;

/** The form in transactions: `2026-01-31 17:05:09`. The gateway sends the year 1 for "no time". */
export function parseTransactionTime(text: string | null): Date | null {
  const [, date, time] = text?.match(/^(2\d{3}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/) ?? [];
  return date ? validDate(`${date}T${time}+07:00`) : null;
}

/**
 * The forms in subscriptions: `2026-01-31T17:05:09.810452` and `2026-01-31 17:05:09`, both with or
 * without `Z` or an offset such as `+0700`. Times without an offset are in WIB.
 */
export function parseSubscriptionTime(text: string | null): Date | null {
  const [, date, time, zone] =
    text?.match(/^(2\d{3}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(Z| ?[+-]\d\d:?\d\d)?$/) ?? [];
  if (!date) return null;
  const offset = zone === undefined ? "+07:00" : zone.trim().replace(/(\d\d)(\d\d)$/, "$1:$2");
  return validDate(`${date}T${time}${offset}`);
}

/** The time on a clock in WIB, as milliseconds of a clock in UTC that shows the same. */
export function wibMilliseconds(time: Date): number {
  return time.getTime() + WIB_MS;
}

/** The form for requests: `2026-01-31 17:05:09 +0700`. */
export function formatWib(time: Date): string {
  const local = new Date(wibMilliseconds(time)).toISOString();
  return `${local.slice(0, 10)} ${local.slice(11, 19)} +0700`;
}

/** The date in WIB, `2026-01-31`. */
export function dayInWib(time: Date): string {
  return formatWib(time).slice(0, 10);
}

/** The last second of a day in WIB; null if the day does not exist. */
export function endOfDayInWib(day: string): Date | null {
  const end = /^2\d{3}-\d\d-\d\d$/.test(day) ? validDate(`${day}T23:59:59+07:00`) : null;
  // `Date` turns June 31 into July 1.
  return end && dayInWib(end) === day ? end : null;
}

function validDate(text: string): Date | null {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? null : date;
}
