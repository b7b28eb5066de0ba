/** Tries a read again where the gateway may do better the next time, within what time there is. */

import type { Clock } from "../clock.ts";
import { GatewayError } from "./errors.ts";

/** Resolves after so long; rejects with the signal's reason. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

export interface RetryOptions {
  clock: Clock;
  wait: Wait;
  /** From 0 up to 1. */
  random: () => number;
  /** False while the gateway is taken to be down. */
  mayCall: () => boolean;
}

export interface Limits {
  signal: AbortSignal;
  /** When the time is up. */
  endsAt: number;
}

const MAX_RETRIES = 3;
const FIRST_DELAY_MS = 100;

export async function retryRead<T>(
  attempt: (number: number) => Promise<T>,
  limits: Limits,
  { clock, wait, random, mayCall }: RetryOptions,
): Promise<T> {
  for (let number = 1;; number++) {
    try {
      return await attempt(number);
    } catch (error) {
      if (!(error instanceof GatewayError) || !isPassing(error)) throw error;
      if (number > MAX_RETRIES || !mayCall()) throw error;
      // Full jitter: callers that failed together must not come back together.
      const jitter = random() * FIRST_DELAY_MS * 2 ** (number - 1);
      const pause = (error.retryAfterSeconds ?? 0) * 1000 + jitter;
      if (clock() + pause >= limits.endsAt) throw error;
      // Given up meanwhile: what went wrong says more than that nobody waited for better.
      await wait(pause, limits.signal).catch(() => {
        throw error;
      });
    }
  }
}

/** Whether the same question may have another answer in a moment. */
function isPassing({ failure, statusCode }: GatewayError): boolean {
  if (failure === "unreachable") return true;
  return failure === "answered" && (statusCode === "429" || Number(statusCode) >= 500);
}
