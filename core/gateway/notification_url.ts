/** Where the gateway sends the notifications of a charge (docs/gateway.md#notifications). */

import { isLoopback } from "../config/parsers.ts";

/** The path of the route that receives notifications. */
export const NOTIFICATION_PATH = "/notification/";

/**
 * The URL that a charge names; null: the gateway uses the one in its dashboard. An address of this
 * machine is named only to a gateway on this machine, because another could not reach it. A gateway
 * on this machine is a sandbox, and sends nothing to the outside.
 */
export function notificationUrl(publicUrl: string | null, gatewayUrl: string): string | null {
  if (publicUrl === null) return null;
  return isLocal(publicUrl) === isLocal(gatewayUrl) ? publicUrl + NOTIFICATION_PATH : null;
}

/** Whether the URL is an address of this machine. */
export function isLocal(url: string): boolean {
  return isLoopback(new URL(url).hostname);
}
