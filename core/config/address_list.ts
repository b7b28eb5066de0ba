/** Parses a list of IP addresses and networks, such as `10.0.0.0/8, ::1`. */

import { BlockList, isIP } from "node:net";

export interface AddressList {
  has(address: string): boolean;
}

/** Null if the text is not a valid list. */
export function parseAddressList(text: string): AddressList | null {
  const list = new BlockList();
  for (const entry of text.split(",")) {
    const [address = "", length, ...rest] = entry.trim().split("/");
    const family = familyOf(address);
    if (family === null || rest.length > 0) return null;
    const maxBits = family === "ipv4" ? 32 : 128;
    const bits = length === undefined ? maxBits : /^\d{1,3}$/.test(length) ? Number(length) : NaN;
    if (!(bits >= 0 && bits <= maxBits)) return null;
    list.addSubnet(address, bits, family);
  }
  return {
    has(address) {
      // An IPv6 socket shows an IPv4 client as `::ffff:10.0.0.1`.
      const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
      const family = familyOf(plain);
      return family !== null && list.check(plain, family);
    },
  };
}

function familyOf(address: string): "ipv4" | "ipv6" | null {
  return ({ 4: "ipv4", 6: "ipv6" } as const)[isIP(address)] ?? null;
}
