/** The gateway's times: of Western Indonesia (UTC+7), and mostly not saying so (G§11, G§7). */

const WIB_MS = 7 * 3_600_000;

/** Of transactions: `2026-01-31 17:05:09`; the year 1 is no time. */
export function parseWib(text: string | null): Date | null {
  const [, date, time] = text?.match(/^(2\d{3}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/) ?? [];
  return date ? validDate(`${date}T${time}+07:00`) : null;
}

/**
 * Of subscriptions, which come in three ways: `2026-01-31T17:05:09.810452`, the same with a `Z`, and
 * `2026-01-31 17:05:09`. Only the second says where; the others are of Western Indonesia.
 */
export function parseTime(text: string | null): Date | null {
  const [, date, time, zone] =
    text?.match(/^(2\d{3}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(Z| ?[+-]\d\d:?\d\d)?$/) ?? [];
  if (!date) return null;
  const offset = zone === undefined ? "+07:00" : zone.trim().replace(/(\d\d)(\d\d)$/, "$1:$2");
  return validDate(`${date}T${time}${offset}`);
}

/** As requests have it: `2026-01-31 17:05:09 +0700`. */
export function formatWib(time: Date): string {
  const local = new Date(time.getTime() + WIB_MS).toISOString();
  return `${local.slice(0, 10)} ${local.slice(11, 19)} +0700`;
}

/** The day that it is there, `2026-01-31`. */
export function dayInWib(time: Date): string {
  return formatWib(time).slice(0, 10);
}

/** The last second of a day there; null where there is no such day. */
export function endOfDayInWib(day: string): Date | null {
  const end = /^2\d{3}-\d\d-\d\d$/.test(day) ? validDate(`${day}T23:59:59+07:00`) : null;
  // The 31st of June would be the 1st of July.
  return end && dayInWib(end) === day ? end : null;
}

function validDate(text: string): Date | null {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? null : date;
}
