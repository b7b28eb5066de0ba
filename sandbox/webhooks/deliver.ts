/** Delivers webhooks over HTTP, with the gateway's retry rules. */

import { HOUR, MINUTE } from "../engine/time.ts";
import type { Attempt } from "../world/webhook.ts";

const TIMEOUT_MS = 15_000;
const MAX_HOPS = 5;
/** How much of the receiver's response is stored. */
const MAX_STORED_CHARACTERS = 500;

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
    return { status: response.status, answer: await readStart(response) };
  } catch (error) {
    return { status: null, answer: error instanceof Error ? error.message : String(error) };
  }
}

function post(url: string, body: string, signal: AbortSignal): Promise<Response> {
  return fetch(url, { method: "POST", headers: HEADERS, body, redirect: "manual", signal });
}

/** Stops at the stored length: a receiver may send a response of any size. */
async function readStart(response: Response): Promise<string> {
  if (!response.body) return "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (text.length < MAX_STORED_CHARACTERS) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
  }
  await reader.cancel();
  return text.slice(0, MAX_STORED_CHARACTERS);
}

const RETRY_DELAYS = [2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 1.5 * HOUR, 3.5 * HOUR];

/**
 * Maximum number of retries after a response with this status (null: no response). Returns null if
 * the webhook was delivered.
 */
export function retriesFor(status: number | null): number | null {
  if (status === null) return RETRY_DELAYS.length;
  if (status >= 200 && status < 300) return null;
  if ([301, 302, 303].includes(status)) return 0;
  if (status === 500) return 1;
  if (status === 400 || status === 404) return 2;
  return status === 503 ? 4 : RETRY_DELAYS.length;
}

/**
 * Delay before retry number `retry`: the full delay if `chance` is 1, down to a quarter if it is 0.
 */
export function retryDelay(retry: number, chance: number): number {
  return Math.round(RETRY_DELAYS[retry - 1]! * (0.25 + 0.75 * chance));
}
