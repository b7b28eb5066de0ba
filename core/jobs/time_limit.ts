/** Gives up on work that does not end, and tells it so. */

/** The work itself can go on: only the signal can make it stop. */
export async function withTimeLimit<T>(
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new Error(`It took longer than ${limitMs / 1000} s`);
    limit.abort(error);
    reject(error);
  }, limitMs);
  try {
    return await Promise.race([work(limit.signal), timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
