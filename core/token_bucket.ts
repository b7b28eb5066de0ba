/** Limits how often each key may do something: a steady rate, with room for a burst. */

import type { Clock } from "./clock.ts";

export interface TokenBuckets {
  /** Takes one token; 0 when there was one, else the seconds until there will be. */
  take(key: string): number;
}

export interface BucketOptions {
  perSecond: number;
  burst: number;
  clock: Clock;
  /** How many keys are remembered at most. */
  capacity?: number;
}

export function createTokenBuckets(options: BucketOptions): TokenBuckets {
  const { perSecond, burst, clock, capacity = 100_000 } = options;
  const buckets = new Map<string, { tokens: number; at: number }>();

  return {
    take(key) {
      const now = clock();
      let bucket = buckets.get(key);
      if (bucket === undefined) {
        makeRoom(now);
        buckets.set(key, bucket = { tokens: burst, at: now });
      }
      const refill = Math.max(0, now - bucket.at) * perSecond / 1000;
      bucket.tokens = Math.min(burst, bucket.tokens + refill);
      bucket.at = now;
      if (bucket.tokens >= 1) {
        bucket.tokens -= 1;
        return 0;
      }
      return Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond));
    },
  };

  /**
   * A bucket that is full again says what no bucket says. Only where all are in use are the oldest
   * forgotten, a tenth at once, so that a flood of new keys does not pay for a sweep each.
   */
  function makeRoom(now: number) {
    if (buckets.size < capacity) return;
    const fullAfter = burst / perSecond * 1000;
    for (const [key, { at }] of buckets) {
      if (now - at >= fullAfter) buckets.delete(key);
    }
    for (const key of buckets.keys()) {
      if (buckets.size <= capacity * 0.9) break;
      buckets.delete(key);
    }
  }
}
