/** Lets at most so many calls be under way at once; the others wait in line. */

export interface InFlight {
  /** Resolves with the way out, to be taken once; rejects with the signal's reason. */
  enter(signal: AbortSignal): Promise<() => void>;
}

export function createInFlight(most: number): InFlight {
  let taken = 0;
  const line = new Set<() => void>();

  return {
    async enter(signal) {
      signal.throwIfAborted();
      if (taken < most) taken++;
      else await turn(signal);
      return leave;
    },
  };

  function turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    line.add(resolve);
    signal.addEventListener("abort", () => {
      // Whoever's turn it was already stays in: that promise is settled.
      line.delete(resolve);
      reject(signal.reason);
    }, { once: true });
    return promise;
  }

  function leave() {
    const [next] = line;
    if (!next) {
      taken--;
      return;
    }
    // The place is handed over, so that nobody slips in between.
    line.delete(next);
    next();
  }
}
