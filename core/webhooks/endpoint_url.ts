/** What may be registered as the URL of an endpoint. */

import { isIP } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { isPublic } from "./public_address.ts";
import { hostOf, type ResolveHost, resolveHost } from "./resolve_host.ts";

export interface EndpointRules {
  /** Then http and private addresses are welcome, too. */
  allowPrivate: boolean;
  resolve?: ResolveHost;
}

/** The URL as it is kept, or what is wrong with it. */
export type EndpointUrl = { url: string } | { problem: string };

const MAX_LENGTH = 2_000;

/** Whoever registers an endpoint waits no longer than this for its name. */
const RESOLVE_MS = 5_000;

export async function checkEndpointUrl(
  text: string,
  { allowPrivate, resolve = resolveHost }: EndpointRules,
): Promise<EndpointUrl> {
  if (text.length > MAX_LENGTH) return { problem: TOO_LONG };
  const url = URL.parse(text);
  if (!url) return { problem: "must be a URL, such as https://example.com/webhooks" };
  const problem = wrongForm(url, allowPrivate) ??
    (allowPrivate ? null : await wrongPlace(url, resolve));
  return problem ? { problem } : { url: url.href };
}

const TOO_LONG = "must be at most 2,000 characters long";

function wrongForm(url: URL, allowPrivate: boolean): string | null {
  if (url.protocol !== "https:" && !(allowPrivate && url.protocol === "http:")) {
    return allowPrivate ? "must begin with https:// or http://" : "must begin with https://";
  }
  if (url.username || url.password) return "must have no user name and no password in it";
  // An empty fragment is only to be seen in the whole.
  if (url.href.includes("#")) return "must have no fragment (#…)";
  if (url.port === "0") return "must not have the port 0";
  // Written in full it may have become longer.
  return url.href.length > MAX_LENGTH ? TOO_LONG : null;
}

/**
 * URL itself has already turned `0x7f.1`, `2130706433` and the like into `127.0.0.1`. What is found
 * here is for whoever registers it: names change, and each delivery looks again.
 */
async function wrongPlace(url: URL, resolve: ResolveHost): Promise<string | null> {
  const host = hostOf(url);
  if (isIP(host)) return isPublic(host) ? null : "must be a public address";
  if (/(^|\.)localhost\.?$/.test(host)) return "must not be localhost";
  const addresses = await resolveInTime(host, resolve);
  return addresses.every(isPublic) ? null : "must not resolve to an address that is not public";
}

/** None for a name that does not resolve now: it may yet. */
async function resolveInTime(host: string, resolve: ResolveHost): Promise<string[]> {
  const done = new AbortController();
  const late = delay(RESOLVE_MS, [], { signal: done.signal }).catch(() => []);
  try {
    return await Promise.race([resolve(host), late]);
  } catch {
    return [];
  } finally {
    done.abort();
  }
}
