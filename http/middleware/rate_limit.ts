/** Rate limits per key, and the client address that unauthenticated requests are limited by. */

import type { Context } from "hono";
import { isIP } from "node:net";
import type { AddressList } from "../../core/config/address_list.ts";
import type { Clock } from "../../core/time/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { ServiceError } from "../../core/errors.ts";
import type { SharedUsage } from "../../core/auth/shared_usage.ts";
import { createTokenBuckets } from "./token_bucket.ts";
import type { AppEnv } from "../router.ts";

export interface RateLimit {
  /** Counts one request for the key; throws `rate_limited` if the limit is exceeded. */
  count(key: string): void;
  /** The same for a request of a caller, whose limit the instances can share. */
  countCaller(userId: string): void;
  /** Counts one request for the key; false if the limit is exceeded. */
  tryCount(key: string): boolean;
  /** Takes back a request that was counted. */
  uncount(key: string): void;
}

export function createRateLimit(
  config: Config["rateLimit"],
  clock: Clock,
  shared: SharedUsage | null = null,
): RateLimit {
  const { perSecond, burst } = config;
  const buckets = createTokenBuckets({ perSecond, burst, clock });
  const window = Math.ceil(burst / perSecond);
  const keyOf = (userId: string) => `user:${userId}`;
  shared?.onTokens((userId, tokens) => buckets.set(keyOf(userId), tokens));

  function count(key: string): void {
    const seconds = buckets.take(key);
    if (seconds === 0) return;
    throw new ServiceError("rate_limited", {
      detail: `Retry in ${seconds} s.`,
      headers: {
        "Retry-After": String(seconds),
        "RateLimit": `"caller";r=0;t=${seconds}`,
        "RateLimit-Policy": `"caller";q=${burst};w=${window}`,
      },
    });
  }

  return {
    count,
    countCaller(userId) {
      count(keyOf(userId));
      shared?.add(userId);
    },
    tryCount: (key) => buckets.take(key) === 0,
    uncount: buckets.giveBack,
  };
}

/**
 * The address of the connection or, if that is a trusted proxy, the last address in
 * `X-Forwarded-For` that is not a trusted proxy. The client can forge every entry before that one.
 */
export function clientAddress(c: Context<AppEnv>, trusted: AddressList | null): string {
  const remote = c.env.connection?.remoteAddr;
  let address = remote && "hostname" in remote ? remote.hostname : "unknown";
  if (!trusted?.has(address)) return address;
  const hops = c.req.header("x-forwarded-for")?.split(",") ?? [];
  for (const hop of hops.reverse()) {
    const claimed = hop.trim();
    if (!isIP(claimed)) break;
    address = claimed;
    if (!trusted.has(address)) break;
  }
  return address;
}
