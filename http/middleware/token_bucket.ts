/** Rate limits by key: a steady rate with a burst. */

import type { Clock } from "../../core/time/clock.ts";

export interface TokenBuckets {
  /** Takes one token. Returns 0, or the seconds until a token is available. */
  take(key: string): number;
  /** Puts back a token that was taken. */
  giveBack(key: string): void;
  /** Sets the number of tokens of a bucket from which tokens were taken. */
  set(key: string, tokens: number): void;
}

export interface BucketOptions {
  perSecond: number;
  burst: number;
  clock: Clock;
  /** The maximum number of keys in memory. */
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
    giveBack(key) {
      const bucket = buckets.get(key);
      if (bucket) bucket.tokens = Math.min(burst, bucket.tokens + 1);
    },
    set(key, tokens) {
      const bucket = buckets.get(key);
      if (bucket) Object.assign(bucket, { tokens, at: clock() });
    },
  };

  /**
   * A full bucket equals a missing one, so it can be dropped. If too few buckets are full, those
   * that were added first are dropped: a tenth at once, so that a flood of new keys does not cause
   * a sweep per key.
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
