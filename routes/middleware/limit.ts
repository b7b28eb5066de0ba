/** Turns away who asks too often, and says when to come back. */

import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config.ts";
import { ServiceError } from "../../core/errors.ts";
import { createTokenBuckets } from "../../core/token_bucket.ts";

/** Counts once for the key; throws where that was once too often. */
export type Limit = (key: string) => void;

export function createLimit(rateLimit: Config["rateLimit"], clock: Clock): Limit {
  const { perSecond, burst } = rateLimit;
  const buckets = createTokenBuckets({ perSecond, burst, clock });
  const window = Math.ceil(burst / perSecond);

  return function limit(key) {
    const seconds = buckets.take(key);
    if (seconds === 0) return;
    throw new ServiceError("rate_limited", {
      detail: `Try again in ${seconds} s.`,
      headers: {
        "Retry-After": String(seconds),
        "RateLimit": `"caller";r=0;t=${seconds}`,
        "RateLimit-Policy": `"caller";q=${burst};w=${window}`,
      },
    });
  };
}
