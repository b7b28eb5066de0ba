/**
 * Idempotency as weak as the gateway's: it compares keys only, for a few minutes, and replays
 * successful responses only.
 */

import type { Table } from "../engine/store.ts";
import { type Clock, MINUTE } from "../engine/time.ts";
import type { Replayable, StoredResponse } from "../world/records.ts";

/** The gateway ignores longer keys without an error. */
const MAX_KEY_LENGTH = 46;

export interface Idempotency {
  /**
   * Runs `work`, or returns the stored response of the first request with this key. Returns
   * `running` while the first request is still running. Operation and body are not compared.
   */
  run<T extends Replayable>(
    rules: IdempotencyRules | null,
    key: string | null,
    work: () => Promise<T>,
  ): Promise<T | "running">;
}

export interface IdempotencyRules {
  /** Keys of different headers are independent of each other. */
  header: string;
  lifetime: number;
}

export const CORE_LIFETIME = 5 * MINUTE;
export const SUBSCRIPTION_LIFETIME = 3 * MINUTE;

export function createIdempotency(clock: Clock, answers: Table<StoredResponse>): Idempotency {
  const running = new Set<string>();

  return {
    async run<T extends Replayable>(
      rules: IdempotencyRules | null,
      given: string | null,
      work: () => Promise<T>,
    ) {
      if (!rules || !given || given.length > MAX_KEY_LENGTH) return await work();
      const key = `${rules.header}: ${given}`;
      if (running.has(key)) return "running";
      const known = answers.get(key);
      if (known && known.until > clock.now()) return known.answer as T;
      running.add(key);
      try {
        const response = await work();
        const until = clock.now() + rules.lifetime;
        if (response.isSuccess) answers.put({ id: key, until, answer: response });
        return response;
      } finally {
        running.delete(key);
      }
    },
  };
}
