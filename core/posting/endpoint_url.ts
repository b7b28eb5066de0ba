/** Checks the URL of an endpoint when staff register or change it. */

import { isIP } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { hostOf, isPublic, type ResolveHost, resolveHost } from "./addresses.ts";

export interface EndpointRules {
  /** Also allows http and private addresses. */
  allowPrivate: boolean;
  resolve?: ResolveHost;
}

/** The normalized URL, or what is wrong with it. */
export type EndpointUrl = { url: string } | { problem: string };

/** The limit for the URL as sent. Percent-encoding can make the stored URL longer. */
const MAX_LENGTH = 2_000;

/** How long registering an endpoint waits for DNS. */
const RESOLVE_MS = 5_000;

export async function checkEndpointUrl(
  text: string,
  { allowPrivate, resolve = resolveHost }: EndpointRules,
): Promise<EndpointUrl> {
  if (text.length > MAX_LENGTH) return { problem: "must be at most 2,000 characters long" };
  const url = URL.parse(text);
  if (!url) return { problem: "must be a URL, such as https://example.com/webhooks" };
  const problem = syntaxProblem(url, allowPrivate) ??
    (allowPrivate ? null : await addressProblem(url, resolve));
  return problem ? { problem } : { url: url.href };
}

function syntaxProblem(url: URL, allowPrivate: boolean): string | null {
  if (url.protocol !== "https:" && !(allowPrivate && url.protocol === "http:")) {
    return allowPrivate ? "must begin with https:// or http://" : "must begin with https://";
  }
  if (url.username || url.password) return "must not contain a user name or password";
  // `url.hash` does not show an empty fragment; `href` does.
  if (url.href.includes("#")) return "must not contain a fragment (#…)";
  return url.port === "0" ? "must not have the port 0" : null;
}

/**
 * `URL.parse` has already normalized `0x7f.1`, `2130706433` and the like to `127.0.0.1`. This check
 * gives early feedback only: DNS records change, so each delivery checks the address again.
 */
async function addressProblem(url: URL, resolve: ResolveHost): Promise<string | null> {
  const host = hostOf(url);
  if (isIP(host)) return isPublic(host) ? null : "must be a public address";
  if (/(^|\.)localhost\.?$/.test(host)) return "must not be localhost";
  const addresses = await resolveInTime(host, resolve);
  return addresses.every(isPublic) ? null : "must resolve to public addresses only";
}

/** Empty for a name that does not resolve in time: its DNS record may be created later. */
async function resolveInTime(host: string, resolve: ResolveHost): Promise<string[]> {
  const done = new AbortController();
  const timeout = delay(RESOLVE_MS, [], { signal: done.signal }).catch(() => []);
  try {
    return await Promise.race([resolve(host), timeout]);
  } catch {
    return [];
  } finally {
    done.abort();
  }
}
