/** Name resolution for a connection that goes nowhere but where it may. */

import { isIP, type LookupFunction } from "node:net";
import type { ResolveHost } from "./resolve_host.ts";

/** The name, or the URL itself, leads to an address that must not be reached. */
export class NotPublic extends Error {
  override name = "NotPublic";
}

export class NotResolved extends Error {
  override name = "NotResolved";
}

/**
 * What is checked here is what is connected to: the name is not resolved a second time, so it cannot
 * stand for something else by then. One bad address spoils them all, for which of them is taken
 * depends on which answers first.
 */
export function guardedLookup(
  resolve: ResolveHost,
  mayReach: (address: string) => boolean,
): LookupFunction {
  async function find(hostname: string) {
    const addresses = await resolve(hostname).catch((cause) => {
      throw new NotResolved(hostname, { cause });
    });
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    if (!found[0]) throw new NotResolved(hostname);
    if (!addresses.every(mayReach)) throw new NotPublic(hostname);
    return { all: found, first: found[0] };
  }

  return function lookup(hostname, options, callback) {
    find(hostname).then(
      ({ all, first }) =>
        options.all ? callback(null, all) : callback(null, first.address, first.family),
      (error) => callback(error, []),
    );
  };
}
