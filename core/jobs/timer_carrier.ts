/** Carries jobs by timers of this process: to itself, and no further than it lives. */

import type { Clock } from "../clock.ts";
import type { Deliver, OpenCarrier } from "./carrier.ts";

/** Timers hold at most this; what is due later is left to the sweep. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

export function createTimerCarrier({ clock }: { clock: Clock }): OpenCarrier {
  const timers = new Map<string, ReturnType<typeof setTimeout>>();
  let deliver: Deliver | null = null;
  let isClosed = false;

  return {
    carry({ id, run_at }) {
      const wait = Math.max(0, run_at.getTime() - clock());
      if (isClosed || wait > LONGEST_WAIT_MS) return;
      // The latest word on a job counts.
      clearTimeout(timers.get(id));
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
