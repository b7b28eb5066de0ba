/** Retries a read after a temporary failure, with backoff: three times, and before its deadline. */

import type { Clock } from "../time/clock.ts";
import { GatewayError } from "./errors.ts";

/** Resolves after `ms`. If the signal is aborted before, rejects with the signal's reason. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

export interface RetryOptions {
  clock: Clock;
  wait: Wait;
  /** From 0 (inclusive) to 1 (exclusive). */
  random: () => number;
  /** False while the circuit breaker is open. */
  canCall: () => boolean;
}

export interface Deadline {
  /** Aborted with a `CallAbandoned` at the deadline, or when the caller aborts. */
  signal: AbortSignal;
  startedAt: number;
  endsAt: number;
}

const MAX_RETRIES = 3;
const FIRST_DELAY_MS = 100;

export async function retryRead<T>(
  attempt: (number: number) => Promise<T>,
  deadline: Deadline,
  { clock, wait, random, canCall }: RetryOptions,
): Promise<T> {
  for (let number = 1;; number++) {
    try {
      return await attempt(number);
    } catch (error) {
      if (!(error instanceof GatewayError) || !isTemporary(error)) throw error;
      if (number > MAX_RETRIES || !canCall()) throw error;
      // Full jitter: callers that failed at the same time must not all retry at the same time.
      const jitter = random() * FIRST_DELAY_MS * 2 ** (number - 1);
      const delay = (error.retryAfterSeconds ?? 0) * 1000 + jitter;
      if (clock() + delay >= deadline.endsAt) throw error;
      // If the call is aborted during the delay, the last failure says more than the abort.
      await wait(delay, deadline.signal).catch(() => {
        throw error;
      });
    }
  }
}

function isTemporary({ failure, statusCode }: GatewayError): boolean {
  if (failure === "unreachable") return true;
  return failure === "answered" && (statusCode === "429" || Number(statusCode) >= 500);
}
