/** Reads a request's JSON, as far as there is any. */

import { Refusal } from "./refusal.ts";

const MAX_BYTES = 262_144;

/** Undefined where there is no body; what is no JSON is refused. */
export async function readBody(request: Request): Promise<unknown> {
  const text = await readText(request);
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(413);
  }
}

async function readText(request: Request): Promise<string> {
  const length = request.headers.get("content-length");
  if (length !== null && Number(length) > MAX_BYTES) {
    await request.body?.cancel();
    throw new Refusal(413);
  }
  // A length that was announced holds; without one, nobody knows what is to come.
  const reading = length === null ? readBounded(request.body) : request.text();
  return await reading.catch((error) => {
    // A body that breaks off is no JSON either.
    throw error instanceof Refusal ? error : new Refusal(413);
  });
}

async function readBounded(body: Request["body"]): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Refusal(413);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/**
 * Browsers say where a request comes from; programs, which nobody can trick, say nothing. To plain
 * http addresses of a network they say it in `Origin` alone. A name that is not the sandbox's own may
 * be a stranger's that was made to point here.
 */
export function isFromElsewhere(headers: Headers, publicUrl: string): boolean {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  if (site === null && origin === null) return false;
  const host = headers.get("host") ?? "";
  if (site !== null && site !== "same-origin" && site !== "none") return true;
  // Behind a proxy that has a name of its own for us.
  if (origin !== null && origin === URL.parse(publicUrl)?.origin) return false;
  if (origin !== null && URL.parse(origin)?.host !== host) return true;
  return !isOwnName(host, publicUrl);
}

function isOwnName(host: string, publicUrl: string): boolean {
  const name = URL.parse(`http://${host}`)?.hostname ?? "";
  return name === "localhost" || /^[\d.]+$|^\[/.test(name) || host === URL.parse(publicUrl)?.host;
}
