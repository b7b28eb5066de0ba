/** Pauses, and polling with growing intervals. */

export interface WaitOptions {
  signal?: AbortSignal;
  /** Fails with a `TimeoutError` after this time. Default: 60 seconds. */
  timeoutMs?: number;
}

const FIRST_POLL_PAUSE_MS = 250;
const MAX_POLL_PAUSE_MS = 5_000;

/** Calls `read` until `isDone` returns true for its value. */
export async function waitUntil<T>(
  read: (signal: AbortSignal) => Promise<T>,
  isDone: (value: T) => boolean,
  { signal, timeoutMs = 60_000 }: WaitOptions = {},
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const abortOrTimeout = signal ? AbortSignal.any([signal, timeout]) : timeout;
  for (let pauseMs = FIRST_POLL_PAUSE_MS;; pauseMs = Math.min(pauseMs * 1.5, MAX_POLL_PAUSE_MS)) {
    const value = await read(abortOrTimeout);
    if (isDone(value)) return value;
    await pause(pauseMs, abortOrTimeout);
  }
}

/** Resolves after `ms`, or rejects when the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
