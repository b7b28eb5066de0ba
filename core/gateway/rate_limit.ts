/**
 * The gateway's rate limit: reads `Retry-After`, and remembers how long background work should
 * pause.
 */

import type { Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";

/** A longer `Retry-After` is shortened, because no payment is checked during the pause. */
const MAX_PAUSE_MS = 3_600_000;

/** For a 429 without `Retry-After`. */
const DEFAULT_PAUSE_MS = 60_000;

/**
 * The seconds in a `Retry-After` header, which holds seconds or a date; null if it is unreadable.
 */
export function parseRetryAfter(value: string | null, now: number): number | null {
  if (value === null) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const date = /^[A-Z][a-z]{2},? /.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - now) / 1000));
}

/**
 * When to retry according to the error's `Retry-After`, at most in an hour; null if it has none.
 */
export function retryAt(error: unknown, now: number): Date | null {
  const seconds = error instanceof ServiceError ? error.headers["Retry-After"] : undefined;
  if (seconds === undefined) return null;
  return new Date(now + Math.min(Number(seconds) * 1_000, MAX_PAUSE_MS));
}

export interface RateLimitPause {
  /** Call it for each 429, with the seconds of its `Retry-After`. */
  start(seconds: number | null): void;
  /** 0 if there is no pause. */
  remainingMs(): number;
}

export function createRateLimitPause(clock: Clock): RateLimitPause {
  let endsAt = 0;

  function remainingMs(): number {
    const remaining = endsAt - clock();
    // More than the maximum: the clock was set back.
    return remaining > MAX_PAUSE_MS ? 0 : Math.max(remaining, 0);
  }

  return {
    start(seconds) {
      const requested = seconds === null
        ? DEFAULT_PAUSE_MS
        : Math.min(seconds * 1000, MAX_PAUSE_MS);
      // A concurrent call may have received a longer pause.
      endsAt = clock() + Math.max(requested, remainingMs());
    },
    remainingMs,
  };
}
