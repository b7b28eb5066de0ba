/** Waits for something to become true, and says so where it does not. */

import { setTimeout as delay } from "node:timers/promises";

const PATIENCE_MS = 30_000;

export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!await condition()) {
    if (Date.now() > deadline) throw new Error(`Waited in vain until ${what}`);
    await delay(10);
  }
}
