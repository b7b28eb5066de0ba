/** Reads a request's JSON, as far as there is any. */

import { Refusal } from "./refusal.ts";

const MAX_BYTES = 262_144;

/** Undefined where there is no body; what is no JSON is refused. */
export async function readBody(request: Request): Promise<unknown> {
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BYTES) {
    await request.body?.cancel();
    throw new Refusal(413);
  }
  // A body that breaks off is no JSON either.
  const text = await request.text().catch(() => {
    throw new Refusal(413);
  });
  if (text.trim() === "") return undefined;
  if (text.length > MAX_BYTES) throw new Refusal(413);
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(413);
  }
}
