/** When those may come back who were asked to wait. */

import { ServiceError } from "./errors.ts";
import { LONGEST_PAUSE_MS } from "./gateway/pause.ts";

/** Null: the error asks nobody to wait. */
export function retryAt(error: unknown, now: number): Date | null {
  const seconds = error instanceof ServiceError ? error.headers["Retry-After"] : undefined;
  if (seconds === undefined) return null;
  return new Date(now + Math.min(Number(seconds) * 1_000, LONGEST_PAUSE_MS));
}
