/** Works through keys as they come: a bounded number at once, the others wait in line. */

import { waitAtMost } from "../../db/within.ts";

export interface Line<Result = void> {
  /** Resolves when the key was worked on, with what came of it, or never will be. */
  enter(key: string): Promise<Result | undefined>;
  /** Takes nothing more, forgets who waits, and waits for what is under way, up to so long. */
  close(graceMs: number): Promise<void>;
}

/** `work` may not fail. */
export function createLine<Result>(
  atOnce: number,
  work: (key: string) => Promise<Result>,
): Line<Result> {
  const waiting = new Map<string, PromiseWithResolvers<Result | undefined>>();
  const underWay = new Set<Promise<void>>();
  let isClosed = false;

  function startNext() {
    const [first] = waiting;
    if (!first || underWay.size >= atOnce) return;
    const [key, { resolve }] = first;
    waiting.delete(key);
    const working = work(key).then((result) => {
      underWay.delete(working);
      resolve(result);
      startNext();
    });
    underWay.add(working);
  }

  return {
    enter(key) {
      if (isClosed) return Promise.resolve(undefined);
      // Whoever waits already keeps that place: else each sweep would make a long line longer.
      const place = waiting.get(key) ?? Promise.withResolvers<Result | undefined>();
      waiting.set(key, place);
      startNext();
      return place.promise;
    },
    async close(graceMs) {
      isClosed = true;
      for (const { resolve } of waiting.values()) resolve(undefined);
      waiting.clear();
      await waitAtMost(graceMs, Promise.all(underWay));
    },
  };
}
