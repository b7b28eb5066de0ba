/** One attempt to deliver a webhook. */

import type { Attempt } from "./webhook.ts";

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
