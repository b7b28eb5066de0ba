/** How often the gateway tries again, and how long it waits (G§9.3). */

import { HOUR, MINUTE } from "../world/time.ts";

const WAITS = [2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 1.5 * HOUR, 3.5 * HOUR];

/** How many retries an answer is worth; null: it arrived. */
export function retriesAfter(status: number | null): number | null {
  if (status === null) return WAITS.length;
  if (status >= 200 && status < 300) return null;
  if ([301, 302, 303].includes(status)) return 0;
  if (status === 500) return 1;
  if (status === 400 || status === 404) return 2;
  return status === 503 ? 4 : WAITS.length;
}

/** The wait before retry number `retry`, shifted by chance: the first may come after half a minute. */
export function waitBefore(retry: number, chance: number): number {
  return Math.round(WAITS[retry - 1]! * (0.25 + 0.75 * chance));
}
