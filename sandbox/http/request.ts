/** Reads a request's JSON body, and detects requests from other sites. */

import { Refusal } from "./refusal.ts";

const MAX_BYTES = 262_144;

/** Undefined if there is no body; invalid JSON, or too much of it, is rejected with 413. */
export async function readBody(request: Request, maxBytes = MAX_BYTES): Promise<unknown> {
  const text = await readText(request, maxBytes);
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(413);
  }
}

async function readText(request: Request, maxBytes: number): Promise<string> {
  const length = request.headers.get("content-length");
  if (length !== null && Number(length) > maxBytes) {
    await request.body?.cancel();
    throw new Refusal(413);
  }
  // The server enforces a declared length; otherwise the size must be counted while reading.
  const reading = length === null ? readBounded(request.body, maxBytes) : request.text();
  return await reading.catch((error) => {
    // An incomplete body is treated as invalid JSON.
    throw error instanceof Refusal ? error : new Refusal(413);
  });
}

async function readBounded(body: Request["body"], maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Refusal(413);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/**
 * Whether the request was sent by a page of another site in the user's browser. Browsers send
 * `Sec-Fetch-Site` or, over plain HTTP to another machine, only `Origin`. Other programs send
 * neither and are allowed. A browser's request to a host name that is not the sandbox's own also
 * counts: an attacker may point such a name at this machine (DNS rebinding).
 */
export function isCrossOrigin(headers: Headers, publicUrl: string): boolean {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  if (site === null && origin === null) return false;
  const host = headers.get("host") ?? "";
  if (site !== null && site !== "same-origin" && site !== "none") return true;
  // The sandbox may be behind a proxy that has another host name.
  if (origin !== null && origin === URL.parse(publicUrl)?.origin) return false;
  if (origin !== null && URL.parse(origin)?.host !== host) return true;
  return !isOwnHost(host, publicUrl);
}

function isOwnHost(host: string, publicUrl: string): boolean {
  const name = URL.parse(`http://${host}`)?.hostname ?? "";
  return name === "localhost" || /^[\d.]+$|^\[/.test(name) || host === URL.parse(publicUrl)?.host;
}
