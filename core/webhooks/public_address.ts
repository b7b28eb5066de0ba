/** Which addresses belong to the public internet: all others may be ours, or our host's. */

import { isIP } from "node:net";
import { type AddressList, parseAddressList } from "../address_list.ts";

/** By IANA's registries of special-purpose addresses. */
const SPECIAL = listOf(
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // behind a carrier's translation; one cloud's metadata
  "127.0.0.0/8", // loopback
  "169.254.0.0/16", // link-local; most clouds' metadata
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments; one cloud's metadata
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // 6to4 relays, given up
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
  // In no registry, but what Azure tells its machines is told here.
  "168.63.129.16/32",
  "2001::/23", // protocol assignments; Teredo, which holds a v4 address
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4, which holds a v4 address
  "3fff::/20", // documentation
);

/** All that is given out of the sixth version; translations of the fourth (64:ff9b::) lie outside. */
const UNICAST_V6 = listOf("2000::/3");

/** False for what is no address at all, too. */
export function isPublic(address: string): boolean {
  // A zone says on which of our own networks it is.
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

/** The fourth version's address within `::ffff:127.0.0.1`, which is also `0:0:0:0:0:ffff:7f00:1`. */
function mappedV4(address: string): string | null {
  const canonical = new URL(`http://[${address}]/`).hostname;
  const mapped = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(canonical);
  if (!mapped) return null;
  const [high, low] = [parseInt(mapped[1]!, 16), parseInt(mapped[2]!, 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

function listOf(...networks: string[]): AddressList {
  const list = parseAddressList(networks.join(","));
  if (!list) throw new Error("One of these is no network");
  return list;
}
