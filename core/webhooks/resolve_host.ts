/** The addresses that a host name stands for at this moment. */

import { lookup } from "node:dns/promises";

/** Throws where the name stands for none. */
export type ResolveHost = (hostname: string) => Promise<string[]>;

/** As the system resolves names, its hosts file included: so does whoever connects. */
export async function resolveHost(hostname: string): Promise<string[]> {
  return (await lookup(hostname, { all: true })).map(({ address }) => address);
}

/** `[::1]` is how a URL writes an address; everybody else leaves the brackets out. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}
