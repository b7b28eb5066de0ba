/** Reads from the service while it recovers. */

import { setTimeout as delay } from "node:timers/promises";
import type { Json } from "../../tests/support/gateway/sandbox.ts";

export interface Reader {
  get(path: string): Promise<Json>;
  /** All pages of a list. */
  list(path: string): Promise<Json[]>;
}

/** The database and the instances recover in far less. */
const GIVE_UP_MS = 180_000;
const ATTEMPT_MS = 40_000;
const PAUSE_MS = 500;

const MAX_PER_PAGE = "100";

/** Repeats each request, at another instance, until one of them answers. */
export function createReader(urls: readonly string[], key: string): Reader {
  let attempts = 0;

  async function read(path: string): Promise<{ body: Json; next: string | null }> {
    const deadline = performance.now() + GIVE_UP_MS;
    for (;;) {
      const { status, text, link } = await attempt(urls[attempts++ % urls.length] + path, key);
      if (status === 200) return { body: JSON.parse(text), next: nextPath(link) };
      const isTemporary = status === 0 || status === 503;
      if (!isTemporary || performance.now() > deadline) {
        throw new Error(`${path}: ${status} ${text}`);
      }
      await delay(PAUSE_MS);
    }
  }

  return {
    get: async (path) => (await read(path)).body,
    async list(path) {
      const all: Json[] = [];
      const first = new URL(path, urls[0]);
      first.searchParams.set("limit", MAX_PER_PAGE);
      for (let next: string | null = first.pathname + first.search; next !== null;) {
        const page: { body: Json; next: string | null } = await read(next);
        all.push(...page.body);
        next = page.next;
      }
      return all;
    },
  };
}

/** Status 0: the connection broke, or no response came in time. */
async function attempt(
  url: string,
  key: string,
): Promise<{ status: number; text: string; link: string | null }> {
  try {
    const response = await fetch(url, {
      headers: { Authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(ATTEMPT_MS),
    });
    const text = await response.text();
    return { status: response.status, text, link: response.headers.get("Link") };
  } catch (error) {
    return { status: 0, text: (error as Error).message, link: null };
  }
}

/** The link names the instance that answered. */
function nextPath(link: string | null): string | null {
  const next = link?.match(/<([^>]+)>; rel="next"/)?.[1];
  if (next === undefined) return null;
  const { pathname, search } = new URL(next, "http://instance");
  return pathname + search;
}
