/** The gateway's idempotency, as weak as it is: by key alone, for minutes, successes only (G§1.4). */

import type { Table } from "../engine/table.ts";
import { type Clock, MINUTE } from "../engine/time.ts";
import type { Kept, KeptAnswer } from "../world/records.ts";

/** Longer keys are ignored without a word. */
const MAX_KEY_LENGTH = 46;

export interface Idempotency {
  /**
   * Runs `work` unless its key was seen: then the first answer comes again, or `running` while
   * there is none yet. The key is all that is compared, whatever the operation and the body.
   */
  run<T extends Kept>(
    rules: IdempotencyRules | null,
    key: string | null,
    work: () => Promise<T>,
  ): Promise<T | "running">;
}

export interface IdempotencyRules {
  /** Keys are told apart by the header they come in, and by nothing else. */
  header: string;
  life: number;
}

export const CORE_LIFE = 5 * MINUTE;
export const SUBSCRIPTION_LIFE = 3 * MINUTE;

export function createIdempotency(clock: Clock, answers: Table<KeptAnswer>): Idempotency {
  const running = new Set<string>();

  return {
    async run<T extends Kept>(
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
        const answer = await work();
        const until = clock.now() + rules.life;
        if (answer.isSuccess) answers.put({ id: key, until, answer });
        return answer;
      } finally {
        running.delete(key);
      }
    },
  };
}
