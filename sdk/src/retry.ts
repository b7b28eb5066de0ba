/** Retries and timeouts of requests. */

import { pause } from "./wait.ts";

export interface RetryOptions {
  maxRetries: number;
  timeoutMs: number;
}

/**
 * Statuses after which a retry can succeed. 409 means that the first attempt, whose response was
 * lost, is still in progress; a retry with the same key returns its response.
 */
const RETRYABLE = new Set([409, 429, 500, 502, 503, 504]);

/** If the service asks for a longer pause, the call fails, and the caller decides when to retry. */
export const MAX_PAUSE_MS = 30_000;

/** A `fetch` that retries requests that are safe to repeat: GET, or with an `Idempotency-Key`. */
export function withRetries(send: typeof fetch, options: RetryOptions): typeof fetch {
  const { maxRetries, timeoutMs } = options;
  requireLimits(options);
  return async (input, init) => {
    const request = new Request(input, init);
    const canRepeat = request.method === "GET" || request.headers.has("Idempotency-Key");
    for (let retry = 0;; retry++) {
      const isLast = !canRepeat || retry >= maxRetries;
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]);
      // An attempt consumes the body, so all but the last one send a copy.
      const attempt = new Request(isLast ? request : request.clone(), { signal });
      let response: Response | undefined;
      try {
        response = await send(attempt);
      } catch (error) {
        if (isLast || request.signal.aborted) throw error;
      }
      if (response && (isLast || !RETRYABLE.has(response.status))) return response;
      const pauseMs = retryAfterMs(response) ?? backoffMs(retry);
      if (response && pauseMs > MAX_PAUSE_MS) return response;
      await response?.body?.cancel();
      await pause(pauseMs, request.signal);
    }
  };
}

/** Without this check, `maxRetries: NaN` would retry forever. */
function requireLimits({ maxRetries, timeoutMs }: RetryOptions): void {
  if (!Number.isInteger(maxRetries) || maxRetries < 0) {
    throw new TypeError(`maxRetries must be a whole number, 0 or more, not ${maxRetries}`);
  }
  if (!(timeoutMs > 0 && timeoutMs <= Number.MAX_SAFE_INTEGER)) {
    throw new TypeError(`timeoutMs must be a number above 0, not ${timeoutMs}`);
  }
}

/** A `fetch` with a timeout for the response headers only, so that a stream can stay open. */
export function withResponseTimeout(timeoutMs: number, send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const timeout = new AbortController();
    const timer = setTimeout(
      () => timeout.abort(new DOMException("The request timed out", "TimeoutError")),
      timeoutMs,
    );
    const signal = AbortSignal.any([request.signal, timeout.signal]);
    try {
      return await send(new Request(request, { signal }));
    } finally {
      clearTimeout(timer);
    }
  };
}

/** The pause that `Retry-After` asks for, in seconds or as a date; null without the header. */
export function retryAfterMs(response?: Response): number | null {
  const value = response?.headers.get("Retry-After");
  if (!value) return null;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(ms, 0);
}

/** Exponential backoff with jitter, so that clients that failed together do not retry together. */
export function backoffMs(retry: number, firstMs = 500): number {
  return firstMs * 2 ** retry * (0.5 + Math.random() / 2);
}
