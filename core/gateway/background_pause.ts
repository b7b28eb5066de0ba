/** How long background work makes no calls while the gateway is down, rate limiting or the wrong one. */

import type { GatewayClient } from "./client.ts";

/** Long enough for the circuit breaker to let one call through and for that call to return. */
const DOWN_MS = 60_000;

/** 0: background work may call the gateway now. */
export function gatewayPauseMs({ gateway }: { gateway: GatewayClient }): number {
  const canCall = gateway.breakerState() !== "open" && gateway.accountState() !== "other";
  return Math.max(gateway.rateLimitPauseMs(), canCall ? 0 : DOWN_MS);
}
