/** Waiting with time limits: a pause, a wait with a timeout, and work with a time limit. */

/** Resolves after this time; rejects with the signal's reason if the signal is aborted first. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  // Not `node:timers/promises`: nearly every sleep here is aborted, and Node creates an error with
  // a stack trace for each of them.
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    reject(signal.reason);
  }, { once: true });
  await promise;
}

/**
 * Resolves when the time is up, or earlier if a signal is aborted or `earlier` resolves. Leaves no
 * listeners on the signals, but each call takes memory until `earlier` is settled.
 */
export async function pause(
  ms: number,
  signals: AbortSignal[],
  earlier?: Promise<void>,
): Promise<void> {
  if (signals.some(({ aborted }) => aborted)) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  earlier?.then(resolve);
  const onAbort = () => resolve();
  for (const signal of signals) signal.addEventListener("abort", onAbort);
  await promise;
  for (const signal of signals) signal.removeEventListener("abort", onAbort);
  clearTimeout(timer);
}

/**
 * Like the promise, but rejects with the signal's reason if the signal is aborted first. Removes
 * its listener afterwards, so it can be called often with the same signal.
 */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/**
 * Resolves when the time is up, or earlier if the promise resolves; rejects if the promise rejects.
 * The promise itself is not cancelled. Each call takes memory until the promise is settled, so do
 * not call it in a loop with the same promise.
 */
export async function waitAtMost(ms: number, promise: Promise<unknown>): Promise<void> {
  const { promise: timeUp, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await Promise.race([promise, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}

/** Rejects when the time is up, and aborts the signal. Work that ignores the signal continues. */
export async function withTimeLimit<T>(
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  toError: (message: string) => Error = (message) => new Error(message),
): Promise<T> {
  const limit = new AbortController();
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = toError(`Timed out after ${limitMs / 1000} s`);
    limit.abort(error);
    reject(error);
  }, limitMs);
  try {
    return await Promise.race([work(limit.signal), timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
