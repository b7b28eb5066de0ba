/** Carries jobs by timers of this process: to itself, and no further than it lives. */

import type { Clock } from "../clock.ts";
import type { Deliver, OpenCarrier } from "./carrier.ts";

/**
 * What is due later is left to the sweep, which comes every minute: timers take memory, and jobs that
 * wait for hours may be many.
 */
const LONGEST_WAIT_MS = 90_000;

export function createTimerCarrier({ clock }: { clock: Clock }): OpenCarrier {
  const timers = new Map<string, ReturnType<typeof setTimeout>>();
  let deliver: Deliver | null = null;
  let isClosed = false;

  return {
    carry({ id, run_at }) {
      // The latest word on a job counts.
      clearTimeout(timers.get(id));
      timers.delete(id);
      const wait = Math.max(0, run_at.getTime() - clock());
      if (isClosed || wait > LONGEST_WAIT_MS) return;
      timers.set(
        id,
        setTimeout(() => {
          timers.delete(id);
          deliver?.(id);
        }, wait),
      );
    },
    start(to) {
      deliver = to;
    },
    [Symbol.asyncDispose]() {
      isClosed = true;
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      return Promise.resolve();
    },
  };
}
