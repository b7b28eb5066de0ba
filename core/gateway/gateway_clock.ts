/** The gateway's time, from the `Date` header of its responses. */

import type { TimeRange } from "../time/clock.ts";

export interface GatewayClock {
  /** Takes the header of a response. `durationMs`: the time since the request was sent. */
  observe(dateHeader: string | null, durationMs: number): void;
  /** The gateway's time now, computed from its last response; null: no response had a date. */
  now(): TimeRange | null;
}

/** The header has whole seconds. */
const RESOLUTION_MS = 1_000;

export function createGatewayClock(): GatewayClock {
  // Measured with the monotonic clock, because the local time may be wrong or be corrected.
  let last: { range: TimeRange; receivedAt: number } | null = null;
  return {
    observe(dateHeader, durationMs) {
      const date = dateHeader === null ? NaN : Date.parse(dateHeader);
      if (Number.isNaN(date)) return;
      // The gateway may have written the header at any moment since the request was sent.
      const range = { earliest: date, latest: date + RESOLUTION_MS + durationMs };
      last = { range, receivedAt: performance.now() };
    },
    now() {
      if (!last) return null;
      const elapsedMs = performance.now() - last.receivedAt;
      return {
        earliest: last.range.earliest + elapsedMs,
        latest: last.range.latest + elapsedMs,
      };
    },
  };
}
