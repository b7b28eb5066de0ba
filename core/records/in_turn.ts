/** One after the other, for what would otherwise only get in each other's way. */

const lines = new Map<string, Promise<unknown>>();

/** Begins when all that came before it for the same key is over, however it ended. */
export async function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
  const before = lines.get(key) ?? Promise.resolve();
  const mine = before.then(work, work);
  lines.set(key, mine);
  try {
    return await mine;
  } finally {
    if (lines.get(key) === mine) lines.delete(key);
  }
}
