/** A fetch that repeats what is safe to repeat, a few times, when the service is away or busy. */

import { pause } from "./pause.ts";
import { backoffMs, LONGEST_PAUSE_MS, retryAfterMs } from "./retry_pauses.ts";

export interface RetryOptions {
  maxRetries: number;
  timeoutMs: number;
}

/**
 * Busy, away, or not known how it ended, which the key makes safe to ask again. 409 means that the
 * first attempt, whose answer was lost, still runs under the same key; its answer comes with the
 * next attempt.
 */
const LATER = new Set([409, 429, 500, 502, 503, 504]);

export function retrying(send: typeof fetch, options: RetryOptions): typeof fetch {
  const { maxRetries, timeoutMs } = options;
  return async (input, init) => {
    const request = new Request(input, init);
    const repeatable = request.method === "GET" || request.headers.has("Idempotency-Key");
    for (let retry = 0;; retry++) {
      const isLast = !repeatable || retry >= maxRetries;
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]);
      // The body is read by the attempt; a copy stays for the next one.
      const attempt = new Request(isLast ? request : request.clone(), { signal });
      let response: Response | undefined;
      try {
        response = await send(attempt);
      } catch (error) {
        if (isLast || request.signal.aborted) throw error;
      }
      if (response && (isLast || !LATER.has(response.status))) return response;
      const pauseMs = retryAfterMs(response) ?? backoffMs(retry);
      if (response && pauseMs > LONGEST_PAUSE_MS) return response;
      await response?.body?.cancel();
      await pause(pauseMs, request.signal);
    }
  };
}
