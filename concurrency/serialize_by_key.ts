/**
 * Runs work for the same key one after the other in this process; different keys run in parallel.
 */

const lastByKey = new Map<string, Promise<unknown>>();

/** Starts `work` when all earlier work for the key has ended, whether it succeeded or failed. */
export async function serializeByKey<T>(key: string, work: () => Promise<T>): Promise<T> {
  const previous = lastByKey.get(key) ?? Promise.resolve();
  const current = previous.then(work, work);
  lastByKey.set(key, current);
  try {
    return await current;
  } finally {
    if (lastByKey.get(key) === current) lastByKey.delete(key);
  }
}
