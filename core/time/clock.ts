/** The clock, passed as an argument so that tests can set the time. */

export type Clock = () => number;

/** A time that is not known exactly. */
export interface TimeRange {
  earliest: number;
  latest: number;
}

/**
 * This machine's time when the process started, continued without steps. It may be wrong: use it
 * only for durations, and for what people read. Decisions use the service's time
 * (`service_clock.ts`).
 */
export const systemClock: Clock = () => Math.floor(performance.timeOrigin + performance.now());
