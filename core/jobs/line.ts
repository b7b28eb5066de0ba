/** Works through keys as they come: a bounded number at once, the others wait in line. */

import { within } from "../../db/within.ts";

export interface Line {
  /** Resolves when the key was worked on, or never will be. */
  enter(key: string): Promise<void>;
  /** Takes nothing more, forgets who waits, and waits for what is under way, up to so long. */
  close(graceMs: number): Promise<void>;
}

/** `work` may not fail. */
export function createLine(atOnce: number, work: (key: string) => Promise<void>): Line {
  const waiting = new Map<string, PromiseWithResolvers<void>>();
  const underWay = new Set<Promise<void>>();
  let isClosed = false;

  function startNext() {
    const [first] = waiting;
    if (!first || underWay.size >= atOnce) return;
    const [key, { resolve }] = first;
    waiting.delete(key);
    const working = work(key).finally(() => {
      underWay.delete(working);
      resolve();
      startNext();
    });
    underWay.add(working);
  }

  return {
    enter(key) {
      if (isClosed) return Promise.resolve();
      // Whoever waits already keeps that place: else each sweep would make a long line longer.
      const place = waiting.get(key) ?? Promise.withResolvers<void>();
      waiting.set(key, place);
      startNext();
      return place.promise;
    },
    async close(graceMs) {
      isClosed = true;
      for (const { resolve } of waiting.values()) resolve();
      waiting.clear();
      await within(graceMs, Promise.all(underWay));
    },
  };
}
