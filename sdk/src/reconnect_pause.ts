/** How long to wait before a stream is connected anew. */

import { ConnectionError, PaymentGatewayError } from "./errors.ts";
import { backoffMs, LONGEST_PAUSE_MS } from "./retry_pauses.ts";

/**
 * As long as the stream itself asks for; while connecting fails, ever longer, and no shorter than
 * the answer asks for, up to half a minute.
 */
export function reconnectPauseMs(ownMs: number, failures: number, error: unknown): number {
  if (failures === 0) return ownMs;
  // At least one, so that what the stream wants at once grows, too.
  const longerMs = Math.max(backoffMs(failures, Math.max(ownMs, 1)), askedMs(error));
  return Math.max(ownMs, Math.min(longerMs, LONGEST_PAUSE_MS));
}

function askedMs(error: unknown): number {
  const isAnswer = error instanceof PaymentGatewayError || error instanceof ConnectionError;
  return isAnswer ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
}
