/**
 * The gateway's rate limit: reads `Retry-After`, and remembers how long background work should
 * pause.
 */

import type { Clock } from "../time/clock.ts";
import { ServiceError } from "../errors.ts";

/** A longer `Retry-After` is shortened, because no payment is checked during the pause. */
const MAX_PAUSE_MS = 3_600_000;

/** For a 429 without `Retry-After`: each pause is twice as long as the one before. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;

/** If no 429 arrives for this long after a pause, the next pause is short again. */
const CALM_MS = 60_000;

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
  /** The length of the last pause after a 429 without `Retry-After`. */
  let lastPauseMs = 0;

  function remainingMs(): number {
    const remaining = endsAt - clock();
    // More than the maximum: the clock was set back.
    return remaining > MAX_PAUSE_MS ? 0 : Math.max(remaining, 0);
  }

  function nextPauseMs(): number {
    const calmMs = clock() - endsAt;
    const isCalm = calmMs < 0 || calmMs >= CALM_MS;
    const grown = Math.min(Math.max(2 * lastPauseMs, FIRST_PAUSE_MS), LONGEST_PAUSE_MS);
    return lastPauseMs = isCalm ? FIRST_PAUSE_MS : grown;
  }

  return {
    start(seconds) {
      const remaining = remainingMs();
      // Calls that were sent before the pause, and callers' requests, must not prolong it.
      if (seconds === null && remaining > 0) return;
      const requested = seconds === null ? nextPauseMs() : Math.min(seconds * 1000, MAX_PAUSE_MS);
      // A concurrent call may have received a longer pause.
      endsAt = clock() + Math.max(requested, remaining);
    },
    remainingMs,
  };
}
