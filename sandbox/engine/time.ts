/**
 * Time formats of the gateway, which uses Jakarta time (WIB, UTC+7), and the sandbox clock, which
 * can be moved forward and run faster.
 */

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const WIB = 7 * HOUR;

/** `yyyy-MM-dd HH:mm:ss` in Jakarta time: format of transactions, subscriptions and webhooks. */
export function formatWib(at: number): string {
  return new Date(at + WIB).toISOString().slice(0, 19).replace("T", " ");
}

/** `yyyy-MM-dd HH:mm:ss +0700`: format of invoices. */
export function formatWibWithOffset(at: number): string {
  return `${formatWib(at)} +0700`;
}

/** Parses `yyyy-MM-dd HH:mm:ss +0700` with any offset; null if the text has another format. */
export function parseTime(text: string): number | null {
  const parts = text.match(/^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) ([+-]\d\d):?(\d\d)$/);
  if (!parts) return null;
  const [, date, time, hours, minutes] = parts;
  const at = Date.parse(`${date}T${time}${hours}:${minutes}`);
  return Number.isNaN(at) ? null : at;
}

/** Captures of a day are settled the next day at 16:00 in Jakarta. */
export function settlementTime(capturedAt: number): number {
  const startOfDay = Math.floor((capturedAt + WIB) / DAY) * DAY - WIB;
  return startOfDay + DAY + 16 * HOUR;
}

const UNITS = { second: SECOND, minute: MINUTE, hour: HOUR, day: DAY, week: 7 * DAY };

/**
 * The time `count` units after `anchor`. A month keeps the day in Jakarta, or uses the last day of
 * a shorter month.
 */
export function addInterval(
  anchor: number,
  count: number,
  unit: keyof typeof UNITS | "month",
): number {
  if (unit !== "month") return anchor + count * UNITS[unit];
  return Temporal.Instant.fromEpochMilliseconds(anchor).toZonedDateTimeISO("Asia/Jakarta")
    .add({ months: count }).epochMilliseconds;
}

/** The earliest of the given times, ignoring null; null if all are null. */
export function earliest(...times: (number | null)[]): number | null {
  const known = times.filter((at) => at !== null);
  return known.length === 0 ? null : Math.min(...known);
}

export interface Clock {
  now(): number;
  /** Moves the clock forward; earlier times are ignored. */
  set(to: number): void;
  /** Sets the clock back, so that what follows happens in the past. */
  rewind(to: number): void;
  /** Real milliseconds until the sandbox clock shows `at`. */
  realDelay(at: number): number;
}

export interface ClockOptions {
  /** Milliseconds ahead of the real clock. */
  ahead?: number;
  /** Sandbox seconds per real second. */
  speed?: number;
  realNow?: () => number;
}

export function createClock(
  { ahead = 0, speed = 1, realNow = Date.now }: ClockOptions = {},
): Clock {
  let base = { real: realNow(), sandbox: realNow() + ahead };

  const now = () => Math.floor(base.sandbox + (realNow() - base.real) * speed);
  return {
    now,
    set(to) {
      if (to > now()) base = { real: realNow(), sandbox: to };
    },
    rewind(to) {
      if (to < now()) base = { real: realNow(), sandbox: to };
    },
    realDelay: (at) => Math.max(0, (at - now()) / speed),
  };
}
