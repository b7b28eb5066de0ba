/** Waits for a condition or a promise, and fails with a message after a time limit. */

import { setTimeout as delay } from "node:timers/promises";

/** Far longer than any test needs, because other processes may keep the machine busy. */
const TIMEOUT_MS = 60_000;

/** The pause between two checks becomes longer, because many checks are statements or requests. */
const FIRST_PAUSE_MS = 2;
const LAST_PAUSE_MS = 50;

export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let pauseMs = FIRST_PAUSE_MS;
  while (!await condition()) {
    if (Date.now() > deadline) throw timedOut(what);
    await delay(pauseMs);
    pauseMs = Math.min(1.5 * pauseMs, LAST_PAUSE_MS);
  }
}

/** The value of the promise. Without a limit a failing test would wait forever. */
export async function inTime<T>(
  what: string,
  promise: Promise<T>,
  timeoutMs = TIMEOUT_MS,
): Promise<T> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(timedOut(what)), timeoutMs);
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

function timedOut(what: string): Error {
  return new Error(`Timed out waiting until ${what}`);
}
