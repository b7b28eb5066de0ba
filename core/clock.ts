/** The clock, passed as an argument so that tests can set the time. */

export type Clock = () => number;

/** A time that is not known exactly. */
export interface TimeRange {
  earliest: number;
  latest: number;
}

export const systemClock: Clock = () => Date.now();
