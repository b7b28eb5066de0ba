/** Waits for something to become true, or to happen, and says so where it does not. */

import { setTimeout as delay } from "node:timers/promises";

const PATIENCE_MS = 30_000;

export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!await condition()) {
    if (Date.now() > deadline) throw inVain(what);
    await delay(10);
  }
}

/** What it resolves to. Without a limit a test that fails would wait for ever. */
export async function inTime<T>(
  what: string,
  promise: Promise<T>,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(inVain(what)), patienceMs);
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

function inVain(what: string): Error {
  return new Error(`Waited in vain until ${what}`);
}
