/** An error in words that can be kept and shown to staff: no stack, no secret, of bounded length. */

import { redact } from "../redact.ts";

const MAX_LENGTH = 500;

export function errorText(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  // PostgreSQL keeps neither NUL nor half a surrogate pair, which a cut can leave behind.
  return redact(text).replaceAll("\0", "").slice(0, MAX_LENGTH).toWellFormed();
}
