/** The address a request really came from. */

import { isIP } from "node:net";
import type { Context } from "hono";
import type { AddressList } from "../../core/address_list.ts";
import type { AppEnv } from "../shared/request_context.ts";

/**
 * The other end of the connection; or, where that is a proxy of ours, what it says it got: the last
 * address in `X-Forwarded-For` that is not such a proxy. Everything left of it anybody can write.
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
