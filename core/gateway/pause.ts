/** Remembers for how long the gateway asked to be left alone. */

import type { Clock } from "../clock.ts";

/** Whoever asks for more is mistaken, and nothing would be looked at for all that time. */
export const LONGEST_PAUSE_MS = 3_600_000;

/** Where it does not say for how long. */
const UNSAID_MS = 60_000;

export interface Pause {
  /** The gateway said 429, and perhaps after how many seconds it may be asked again. */
  begin(seconds: number | null): void;
  /** How much of it is left; 0: there is none. */
  leftMs(): number;
}

export function createPause(clock: Clock): Pause {
  let endsAt = 0;

  function leftMs(): number {
    const left = endsAt - clock();
    // More than there ever is: the clock was set back.
    return left > LONGEST_PAUSE_MS ? 0 : Math.max(left, 0);
  }

  return {
    begin(seconds) {
      const asked = seconds === null ? UNSAID_MS : Math.min(seconds * 1000, LONGEST_PAUSE_MS);
      // Others may have been told to wait for longer.
      endsAt = clock() + Math.max(asked, leftMs());
    },
    leftMs,
  };
}
