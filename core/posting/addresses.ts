/**
 * Decides which addresses are public, and resolves host names, but rejects forbidden addresses.
 */

import type { LookupAddress } from "node:dns";
import { lookup as resolve } from "node:dns/promises";
import { isIP } from "node:net";
import { type AddressList, parseAddressList } from "../config/address_list.ts";

/** From IANA's registries of special-purpose addresses. */
const SPECIAL = listOf(
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT; metadata service of one cloud
  "127.0.0.0/8", // loopback
  "169.254.0.0/16", // link-local; metadata service of most clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments; metadata service of one cloud
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // 6to4 relays, deprecated
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
  // In no registry: Azure's platform services for virtual machines.
  "168.63.129.16/32",
  "2001::/23", // protocol assignments; Teredo, which contains a v4 address
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4, which contains a v4 address
  "3fff::/20", // documentation
);

/** The global unicast addresses of IPv6. Translated v4 addresses (64:ff9b::) are not among them. */
const UNICAST_V6 = listOf("2000::/3");

/** Also false for text that is not an address. */
export function isPublic(address: string): boolean {
  // A zone names a network interface of this machine.
  if (address.includes("%")) return false;
  switch (isIP(address)) {
    case 4:
      return !SPECIAL.has(address);
    case 6: {
      const v4 = mappedV4(address);
      return v4 ? isPublic(v4) : UNICAST_V6.has(address) && !SPECIAL.has(address);
    }
    default:
      return false;
  }
}

/** The v4 address in `::ffff:127.0.0.1`, which can also be written `0:0:0:0:0:ffff:7f00:1`. */
function mappedV4(address: string): string | null {
  const canonical = new URL(`http://[${address}]/`).hostname;
  const mapped = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(canonical);
  if (!mapped) return null;
  const [high, low] = [parseInt(mapped[1]!, 16), parseInt(mapped[2]!, 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

function listOf(...networks: string[]): AddressList {
  const list = parseAddressList(networks.join(","));
  if (!list) throw new Error("Invalid network in a constant list");
  return list;
}

/** The host of a URL; without the brackets that URLs put around a v6 address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}

/** Returns the addresses of a host name; throws if there are none. */
export type ResolveHost = (hostname: string) => Promise<string[]>;

/** Uses the system's resolver with its hosts file, as connections do. */
export async function resolveHost(hostname: string): Promise<string[]> {
  return (await resolve(hostname, { all: true })).map(({ address }) => address);
}

/** The host is, or resolves to, an address that must not be reached. */
export class AddressNotPublic extends Error {
  override name = "AddressNotPublic";
}

export class HostNotResolved extends Error {
  override name = "HostNotResolved";
}

/** Returns the addresses of a host name or address, at least one. */
export type FindAddresses = (host: string) => Promise<LookupAddress[]>;

/**
 * Rejects addresses that must not be reached. The connection uses the addresses checked here; a
 * second lookup could return others (DNS rebinding). If one address is forbidden, all are rejected,
 * because the connection could use any of them.
 */
export function guardedLookup(
  resolve: ResolveHost,
  isAllowed: (address: string) => boolean,
): FindAddresses {
  return async (host) => {
    const addresses = isIP(host) ? [host] : await resolve(host).catch((cause) => {
      throw new HostNotResolved(host, { cause });
    });
    if (addresses.length === 0) throw new HostNotResolved(host);
    if (!addresses.every(isAllowed)) throw new AddressNotPublic(host);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  };
}
