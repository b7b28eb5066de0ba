/**
 * A circuit breaker: stops calling a gateway that does not respond, and probes it after a while.
 */

import { type Clock, systemClock } from "../time/clock.ts";

/**
 * `closed`: calls are made; `open`: no calls are made; `half_open`: one call may probe the gateway.
 */
export type BreakerState = "closed" | "open" | "half_open";

export interface CircuitBreaker {
  state(): BreakerState;
  /**
   * Permits one call, whose result the caller must report to the permit. Null: no call is allowed.
   */
  admit(): Permit | null;
}

/**
 * An error response counts as a response: the breaker only detects whether the gateway responds.
 * Only the first report counts; disposing a permit without a report abandons it.
 */
export interface Permit extends Disposable {
  responded(): void;
  failed(): void;
  /** The caller gave up before the result was known. */
  abandoned(): void;
}

/** A read changes nothing at the gateway; a write, such as a charge, does. */
export type CallType = "read" | "write";

/** Reads and writes fail independently: slow status requests must not stop charges. */
export type CircuitBreakers = Readonly<Record<CallType, CircuitBreaker>>;

export function createCircuitBreakers(options: BreakerOptions = {}): CircuitBreakers {
  return { read: createCircuitBreaker(options), write: createCircuitBreaker(options) };
}

/** The worse of the two states. */
export function worstState({ read, write }: CircuitBreakers): BreakerState {
  const states = [read.state(), write.state()];
  return (["open", "half_open"] as const).find((each) => states.includes(each)) ?? "closed";
}

export interface BreakerOptions {
  clock?: Clock;
  /**
   * How many consecutive calls without a response open the breaker. A call does not count if the
   * gateway has answered one that started later.
   */
  threshold?: number;
  /** How long the breaker stays open. */
  openMs?: number;
}

export function createCircuitBreaker(options: BreakerOptions = {}): CircuitBreaker {
  const { clock = systemClock, threshold = 5, openMs = 10_000 } = options;
  let failures = 0;
  let openedAt: number | null = null;
  let isProbing = false;
  /**
   * Counts the changes of state: if a call started before the last change, its result is ignored.
   */
  let generation = 0;
  /** Numbers the calls in the order in which they start. */
  let started = 0;
  /** The highest number of a call that the gateway has answered. */
  let newestAnswered = 0;

  function state(): BreakerState {
    if (openedAt === null) return "closed";
    const passed = clock() - openedAt;
    // Negative if the clock was set back, which must not prolong the open state.
    const canProbe = passed < 0 || passed >= openMs;
    return canProbe && !isProbing ? "half_open" : "open";
  }

  /** A time opens the breaker, null closes it. */
  function setOpenedAt(time: number | null) {
    openedAt = time;
    failures = 0;
    isProbing = false;
    generation++;
  }

  return {
    state,
    admit() {
      const current = state();
      if (current === "open") return null;
      const isProbe = isProbing = current === "half_open";
      const startedIn = generation;
      const number = ++started;
      let isReported = false;
      const unlessOutdated = (act: () => void) => () => {
        if (startedIn === generation && !isReported) act();
        isReported = true;
      };
      const abandoned = unlessOutdated(() => isProbing = false);
      return {
        responded: unlessOutdated(() => {
          newestAnswered = Math.max(newestAnswered, number);
          failures = 0;
          if (isProbe) setOpenedAt(null);
        }),
        failed: unlessOutdated(() => {
          // A call that started later was answered, so the gateway responds.
          if (number < newestAnswered) return;
          if (isProbe || ++failures >= threshold) setOpenedAt(clock());
        }),
        abandoned,
        [Symbol.dispose]: abandoned,
      };
    },
  };
}
