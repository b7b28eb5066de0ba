/** Waits for a promise, but no longer than told; whether it settled is the promise's own affair. */
export async function waitAtMost(ms: number, promise: Promise<unknown>): Promise<void> {
  const { promise: timeUp, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await Promise.race([promise, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
