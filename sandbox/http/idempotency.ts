/** The gateway's idempotency, as weak as it is: by key alone, for minutes, successes only (G§1.4). */

import type { Clock } from "../world/clock.ts";
import { MINUTE } from "../world/time.ts";

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

export interface Kept {
  /** Failures are not kept: the same key then tries again. */
  isSuccess: boolean;
}

export const CORE_LIFE = 5 * MINUTE;
export const SUBSCRIPTION_LIFE = 3 * MINUTE;

export function createIdempotency(clock: Clock): Idempotency {
  const answers = new Map<string, { until: number; answer: Kept | null }>();

  function forgetOld() {
    // The oldest come first; all live about as long.
    for (const [key, { until, answer }] of answers) {
      if (answer === null || until > clock.now()) break;
      answers.delete(key);
    }
  }

  return {
    async run<T extends Kept>(
      rules: IdempotencyRules | null,
      given: string | null,
      work: () => Promise<T>,
    ) {
      if (!rules || !given || given.length > MAX_KEY_LENGTH) return await work();
      const key = `${rules.header}: ${given}`;
      const { life } = rules;
      forgetOld();
      const known = answers.get(key);
      if (known && known.answer === null) return "running";
      if (known?.answer && known.until > clock.now()) return known.answer as T;
      answers.delete(key);
      answers.set(key, { until: clock.now() + life, answer: null });
      try {
        const answer = await work();
        if (answer.isSuccess) answers.set(key, { until: clock.now() + life, answer });
        else answers.delete(key);
        return answer;
      } catch (error) {
        answers.delete(key);
        throw error;
      }
    },
  };
}
