/** Limits how many operations run at the same time; the others wait in order of arrival. */

export interface Limiter {
  /**
   * Resolves with a function that releases the slot, to be called exactly once. Rejects with the
   * signal's reason if the signal is aborted while waiting.
   */
  acquire(signal?: AbortSignal): Promise<() => void>;
}

export function createLimiter(maxConcurrent: number): Limiter {
  let inUse = 0;
  const waiting = new Set<() => void>();

  return {
    async acquire(signal) {
      signal?.throwIfAborted();
      if (inUse < maxConcurrent) inUse++;
      else await waitForSlot(signal);
      return release;
    },
  };

  function waitForSlot(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiting.add(resolve);
    signal?.addEventListener("abort", () => {
      // If the slot is already granted, this has no effect: the promise is resolved.
      waiting.delete(resolve);
      reject(signal.reason);
    }, { once: true });
    return promise;
  }

  function release() {
    const [next] = waiting;
    if (!next) {
      inUse--;
      return;
    }
    // The slot is passed on directly, so a new caller cannot take it before a caller that waits.
    waiting.delete(next);
    next();
  }
}
