/**
 * How long background work waits while the gateway is down or rate limiting, or if the server key
 * belongs to another account.
 */

import type { CallType } from "./circuit_breaker.ts";
import type { GatewayClient } from "./client.ts";

/** Long enough for the circuit breaker to let one call through and for that call to return. */
const DOWN_MS = 60_000;

/** 0 if background work may make calls of these types now. */
export function gatewayPauseMs(
  { gateway }: { gateway: GatewayClient },
  calls: readonly CallType[] = ["read", "write"],
): number {
  const isDown = calls.some((type) => gateway.breakerState(type) === "open");
  const canCall = !isDown && gateway.accountState() !== "other";
  return Math.max(gateway.rateLimitPauseMs(), canCall ? 0 : DOWN_MS);
}
