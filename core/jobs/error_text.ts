/** An error in words that can be kept and shown to staff: no stack, no secret, of bounded length. */

import { ServiceError } from "../errors.ts";
import { redact } from "../redact.ts";

const MAX_LENGTH = 500;

export function errorText(error: unknown): string {
  const text = wordsOf(error);
  // PostgreSQL keeps neither NUL nor half a surrogate pair, which a cut can leave behind.
  return redact(text).replaceAll("\0", "").slice(0, MAX_LENGTH).toWellFormed();
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof ServiceError)) return `${error.name}: ${error.message}`;
  const { payment_id, outcome } = error.members;
  // Nobody shall take for undone what may have been done.
  const where = outcome === "unknown" && payment_id
    ? ` (outcome unknown: payment ${payment_id})`
    : "";
  return `${error.code}: ${error.message}${where}`;
}
