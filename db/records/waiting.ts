/** Rows that wait to be processed, and how far they are counted. */

/** Counting stops at one above this, which means "more than this". */
export const MAX_COUNTED = 10_000;

export interface Waiting {
  count: number;
  /** Since when the oldest waits; null: none waits. */
  since: Date | null;
}
