/**
 * Processes keys in order of arrival, a limited number at the same time. A key that waits is not
 * added twice.
 */

import { waitAtMost } from "./deadlines.ts";

export interface Lane<Result = void> {
  /** Resolves with the result for the key, or with undefined if the lane closes before its turn. */
  enter(key: string): Promise<Result | undefined>;
  /** Accepts no more keys, drops those that wait, and waits for running work up to `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** `work` must not reject. */
export function createLane<Result>(
  maxConcurrent: number,
  work: (key: string) => Promise<Result>,
): Lane<Result> {
  const waiting = new Map<string, PromiseWithResolvers<Result | undefined>>();
  const running = new Set<Promise<void>>();
  let isClosed = false;

  function startNext() {
    const [first] = waiting;
    if (!first || running.size >= maxConcurrent) return;
    const [key, { resolve }] = first;
    waiting.delete(key);
    const run = work(key).then((result) => {
      running.delete(run);
      resolve(result);
      startNext();
    });
    running.add(run);
  }

  return {
    enter(key) {
      if (isClosed) return Promise.resolve(undefined);
      // Each sweep enters all due keys again: a key that still waits keeps its place and its promise.
      const place = waiting.get(key) ?? Promise.withResolvers<Result | undefined>();
      waiting.set(key, place);
      startNext();
      return place.promise;
    },
    async close(graceMs) {
      isClosed = true;
      for (const { resolve } of waiting.values()) resolve(undefined);
      waiting.clear();
      await waitAtMost(graceMs, Promise.all(running));
    },
  };
}
