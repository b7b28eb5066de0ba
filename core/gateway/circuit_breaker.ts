/** Stops calling a gateway that does not answer, and tries again by itself after a while. */

import { type Clock, systemClock } from "../clock.ts";

export type BreakerState = "closed" | "open" | "half_open";

export interface CircuitBreaker {
  state(): BreakerState;
  /** Leave to make one call, to be reported on; null where no call may be made. */
  admit(): Permit | null;
}

/** How the call went. An error is an answer, too: what counts is that somebody is there. */
export interface Permit {
  answered(): void;
  unanswered(): void;
  /** The caller went away before it could be known. */
  abandoned(): void;
}

export interface BreakerOptions {
  clock?: Clock;
  /** It opens after so many calls in a row without an answer. */
  threshold?: number;
  /** It stays open for so long. */
  openMs?: number;
}

export function createCircuitBreaker(options: BreakerOptions = {}): CircuitBreaker {
  const { clock = systemClock, threshold = 5, openMs = 10_000 } = options;
  let unanswered = 0;
  let openedAt: number | null = null;
  let isProbing = false;
  /** Calls from before it last opened or closed say nothing about now. */
  let era = 0;

  function state(): BreakerState {
    if (openedAt === null) return "closed";
    const passed = clock() - openedAt;
    // Less than nothing: the clock was set back, and nothing may stay open longer for that.
    const hasRested = passed < 0 || passed >= openMs;
    // While one call tries, there is no place for others.
    return hasRested && !isProbing ? "half_open" : "open";
  }

  function turn(opened: number | null) {
    openedAt = opened;
    unanswered = 0;
    isProbing = false;
    era++;
  }

  return {
    state,
    admit() {
      const current = state();
      if (current === "open") return null;
      const isProbe = isProbing = current === "half_open";
      const mine = era;
      const report = (act: () => void) => () => {
        if (mine === era) act();
      };
      return {
        answered: report(() => isProbe ? turn(null) : unanswered = 0),
        unanswered: report(() => {
          if (isProbe || ++unanswered >= threshold) turn(clock());
        }),
        abandoned: report(() => isProbing = false),
      };
    },
  };
}
