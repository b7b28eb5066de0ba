/** Asks again and again, ever more slowly, until the answer is the one that was waited for. */

import { pause } from "./pause.ts";

export interface WaitOptions {
  signal?: AbortSignal;
  /** When to give up, with a `TimeoutError`; 60 seconds unless given. */
  timeoutMs?: number;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

export async function waitUntil<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  isOver: (value: T) => boolean,
  { signal, timeoutMs = 60_000 }: WaitOptions = {},
): Promise<T> {
  const tooLate = AbortSignal.timeout(timeoutMs);
  const either = signal ? AbortSignal.any([signal, tooLate]) : tooLate;
  for (let pauseMs = FIRST_PAUSE_MS;; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    const value = await ask(either);
    if (isOver(value)) return value;
    await pause(pauseMs, either);
  }
}
