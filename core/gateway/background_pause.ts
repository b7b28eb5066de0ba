/** How long background work makes no calls while the gateway is down or rate limiting. */

import type { GatewayClient } from "./client.ts";

/** Long enough for the circuit breaker to let one call through and for that call to return. */
const DOWN_MS = 60_000;

/** 0: background work may call the gateway now. */
export function gatewayPauseMs({ gateway }: { gateway: GatewayClient }): number {
  return Math.max(gateway.rateLimitPauseMs(), gateway.breakerState() === "open" ? DOWN_MS : 0);
}
