/** The gateway's ways of writing time: Jakarta's clock (WIB, UTC+7), mostly without saying so. */

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const WIB = 7 * HOUR;

/** `yyyy-MM-dd HH:mm:ss` in Jakarta, as transactions and webhooks have it. */
export function wib(at: number): string {
  return new Date(at + WIB).toISOString().slice(0, 19).replace("T", " ");
}

/** `yyyy-MM-dd HH:mm:ss +0700`, as invoices have it. */
export function wibWithOffset(at: number): string {
  return `${wib(at)} +0700`;
}

/** `yyyy-MM-ddTHH:mm:ss.SSSSSSZ`, as subscriptions have it. */
export function isoMicros(at: number): string {
  return new Date(at).toISOString().replace("Z", "000Z");
}

/** Reads `yyyy-MM-dd HH:mm:ss +0700` (any offset); null where it is no such time. */
export function parseTime(text: string): number | null {
  const parts = text.match(/^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) ([+-]\d\d):?(\d\d)$/);
  if (!parts) return null;
  const [, date, time, hours, minutes] = parts;
  const at = Date.parse(`${date}T${time}${hours}:${minutes}`);
  return Number.isNaN(at) ? null : at;
}

/** Captures of a day are settled on the next at 16:00 in Jakarta. */
export function settlementOf(capturedAt: number): number {
  const startOfDay = Math.floor((capturedAt + WIB) / DAY) * DAY - WIB;
  return startOfDay + DAY + 16 * HOUR;
}

const UNITS = { second: SECOND, minute: MINUTE, hour: HOUR, day: DAY, week: 7 * DAY };

/** The time `count` units after `anchor`; a month keeps its day, or ends on its last one. */
export function addInterval(
  anchor: number,
  count: number,
  unit: keyof typeof UNITS | "month",
): number {
  if (unit !== "month") return anchor + count * UNITS[unit];
  const start = new Date(anchor);
  const end = new Date(anchor);
  end.setUTCDate(1);
  end.setUTCMonth(start.getUTCMonth() + count);
  const lastDay = new Date(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() + 1, 0)).getUTCDate();
  end.setUTCDate(Math.min(start.getUTCDate(), lastDay));
  return end.getTime();
}

/** The first of what is known; null where nothing is. */
export function earliest(...times: (number | null)[]): number | null {
  const known = times.filter((at) => at !== null);
  return known.length === 0 ? null : Math.min(...known);
}

export interface Clock {
  now(): number;
  /** Jumps forward; the past is not open. */
  set(to: number): void;
  /** How long the world has to wait until it is `at` here. */
  realDelay(at: number): number;
}

export interface ClockOptions {
  /** How far ahead of the world's it stands. */
  ahead?: number;
  /** Seconds that pass here in one of the world's. */
  speed?: number;
  world?: () => number;
}

export function createClock({ ahead = 0, speed = 1, world = Date.now }: ClockOptions = {}): Clock {
  let base = { world: world(), here: world() + ahead };

  const now = () => Math.floor(base.here + (world() - base.world) * speed);
  return {
    now,
    set(to) {
      if (to > now()) base = { world: world(), here: to };
    },
    realDelay: (at) => Math.max(0, (at - now()) / speed),
  };
}
