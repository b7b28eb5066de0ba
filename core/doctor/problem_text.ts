/** `problemText`: an error as a part of a sentence, without secrets. */

import { redact } from "../secrets/redact.ts";

/** Longer texts, such as a page of a proxy, do not help. */
const MAX_LENGTH = 300;

export function problemText(error: unknown): string {
  const messages: string[] = [];
  for (let each = error; each instanceof Error && messages.length < 3; each = each.cause) {
    if (!messages.includes(each.message)) messages.push(each.message);
  }
  const text = messages.length > 0 ? messages.join(": ") : String(error);
  return redact(text).replace(/\.$/, "").slice(0, MAX_LENGTH);
}
