/**
 * The load of this instance: the delay of its event loop, and which requests to reject because of
 * it. One event loop serves callers, notifications, jobs and streams. If callers send more than it
 * can process, all work waits longer and longer, and deadlines pass before the work has begun.
 */

import type { Log } from "../telemetry/log.ts";

export interface Load {
  /** Records how late a timer was. */
  record(delayMs: number): void;
  /** The longest delay of the last ten seconds. */
  delayMs(): number;
  /** True if the next request of a caller must be rejected. Counts each rejection. */
  rejectsNext(): boolean;
  /** The number of rejected requests since the start. */
  rejectedRequests(): number;
}

/** Longer delays count as overload. Garbage collection and large responses take less. */
export const MAX_DELAY_MS = 500;

/** How much a measurement changes the share of rejected requests. */
const INCREASE = 0.1;
const DECREASE = 0.02;

/** A very long delay may be one pause of the machine, so it counts as at most this many delays. */
const MAX_WEIGHT = 5;

/** Below zero, so that requests are rejected only if the overload lasts some seconds. */
const MIN_SHARE = -1;

/** Below one: the requests that are still accepted show whether the overload has ended. */
const MAX_SHARE = 0.95;

const WINDOW_MS = 10_000;

export function createLoad(log: Pick<Log, "info">): Load {
  const samples: { at: number; delayMs: number }[] = [];
  /** The share of callers' requests that are rejected, if above zero. */
  let share = MIN_SHARE;
  let remainder = 0;
  let rejected = 0;

  return {
    record(delayMs) {
      const now = performance.now();
      while (samples[0] && samples[0].at < now - WINDOW_MS) samples.shift();
      samples.push({ at: now, delayMs });
      const before = share;
      const change = delayMs > MAX_DELAY_MS
        ? INCREASE * Math.min(delayMs / MAX_DELAY_MS, MAX_WEIGHT)
        : -DECREASE;
      share = Math.min(MAX_SHARE, Math.max(MIN_SHARE, share + change));
      if (before <= 0 && share > 0) log.info("overloaded", { event_loop_delay_ms: delayMs });
    },

    delayMs: () => Math.max(0, ...samples.map(({ delayMs }) => delayMs)),

    rejectsNext() {
      if (share <= 0) return false;
      remainder += share;
      if (remainder < 1) return false;
      remainder--;
      rejected++;
      return true;
    },

    rejectedRequests: () => rejected,
  };
}

const INTERVAL_MS = 100;

/** Measures the delay of the event loop until the returned object is disposed. */
export function measureLoad(load: Pick<Load, "record">): Disposable {
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    load.record(Math.max(0, now - last - INTERVAL_MS));
    last = now;
  }, INTERVAL_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
