/** One attempt to deliver a webhook. */

import type { Attempt } from "../world/webhook.ts";
import { HOUR, MINUTE } from "../engine/time.ts";

const TIMEOUT_MS = 15_000;
const MAX_HOPS = 5;
/** Enough of an answer to see what the receiver thought. */
const KEPT_CHARACTERS = 500;

const HEADERS = {
  "User-Agent": "Veritrans",
  "Accept": "application/json",
  "Content-Type": "application/json",
};

export async function send(
  url: string,
  body: string,
  signal: AbortSignal,
): Promise<Omit<Attempt, "at">> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    let response = await post(url, body, deadline);
    for (let hop = 0; hop < MAX_HOPS && [307, 308].includes(response.status); hop++) {
      const target = URL.parse(response.headers.get("location") ?? "", url);
      if (!target || !/^https?:$/.test(target.protocol)) break;
      await response.body?.cancel();
      url = target.href;
      response = await post(url, body, deadline);
    }
    return { status: response.status, answer: await beginning(response) };
  } catch (error) {
    return { status: null, answer: error instanceof Error ? error.message : String(error) };
  }
}

function post(url: string, body: string, signal: AbortSignal): Promise<Response> {
  return fetch(url, { method: "POST", headers: HEADERS, body, redirect: "manual", signal });
}

/** Reads no more than is kept: a receiver may answer with anything. */
async function beginning(response: Response): Promise<string> {
  if (!response.body) return "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (text.length < KEPT_CHARACTERS) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
  }
  await reader.cancel();
  return text.slice(0, KEPT_CHARACTERS);
}

const WAITS = [2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 1.5 * HOUR, 3.5 * HOUR];

/** How many retries an answer is worth; null: it arrived. */
export function retriesAfter(status: number | null): number | null {
  if (status === null) return WAITS.length;
  if (status >= 200 && status < 300) return null;
  if ([301, 302, 303].includes(status)) return 0;
  if (status === 500) return 1;
  if (status === 400 || status === 404) return 2;
  return status === 503 ? 4 : WAITS.length;
}

/** The wait before retry number `retry`, shifted by chance: the first may come after half a minute. */
export function waitBefore(retry: number, chance: number): number {
  return Math.round(WAITS[retry - 1]! * (0.25 + 0.75 * chance));
}
