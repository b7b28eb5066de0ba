/**
 * Runs work for keys, a limited number at the same time. Keys belong to groups, which share the
 * slots. A free slot goes to the group with the fewest running keys. If several groups have equally
 * few, it goes to the group that has waited longest. A group's wait begins when its first waiting
 * key arrives, and begins again when one of its keys starts. Within a group, keys run in order of
 * arrival. A key that already waits is not added again.
 */

import { waitAtMost } from "./deadlines.ts";

export interface Lane<Result = void> {
  /** Resolves with the result for the key; undefined: the lane closed before the key's turn. */
  enter(key: string, group?: string): Promise<Result | undefined>;
  /** Accepts no more keys, drops those that wait, and waits for running work up to `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** `work` must not reject. */
export function createLane<Result>(
  maxConcurrent: number,
  work: (key: string) => Promise<Result>,
): Lane<Result> {
  const waiting = new Map<string, PromiseWithResolvers<Result | undefined>>();
  /** The waiting keys of each group; a group moves to the end when one of its keys starts. */
  const groups = new Map<string, Set<string>>();
  /** How many keys of each group are running; groups without running keys are not in it. */
  const runningOf = new Map<string, number>();
  const running = new Set<Promise<void>>();
  let isClosed = false;

  function startNext() {
    if (running.size >= maxConcurrent) return;
    const group = findNextGroup();
    if (group === null) return;
    const key = takeFirst(group);
    const { resolve } = waiting.get(key)!;
    waiting.delete(key);
    changeRunning(group, 1);
    const run = work(key).then((result) => {
      running.delete(run);
      changeRunning(group, -1);
      resolve(result);
      startNext();
    });
    running.add(run);
  }

  /**
   * Fast even if many groups wait: the search stops at the first group that has no running keys.
   */
  function findNextGroup(): string | null {
    let next: string | null = null;
    let fewest = Infinity;
    for (const group of groups.keys()) {
      const count = runningOf.get(group) ?? 0;
      if (count === 0) return group;
      if (count < fewest) [next, fewest] = [group, count];
    }
    return next;
  }

  function takeFirst(group: string): string {
    const keys = groups.get(group)!;
    const [key] = keys;
    keys.delete(key!);
    groups.delete(group);
    if (keys.size > 0) groups.set(group, keys);
    return key!;
  }

  function changeRunning(group: string, by: 1 | -1) {
    const count = (runningOf.get(group) ?? 0) + by;
    if (count === 0) runningOf.delete(group);
    else runningOf.set(group, count);
  }

  return {
    enter(key, group = "") {
      if (isClosed) return Promise.resolve(undefined);
      // A key that still waits keeps its place and its promise. This happens often: each minute,
      // `sweepJobs` (core/jobs/schedule.ts) enters due jobs again.
      const known = waiting.get(key);
      if (known) return known.promise;
      const place = Promise.withResolvers<Result | undefined>();
      waiting.set(key, place);
      const keys = groups.get(group);
      if (keys) keys.add(key);
      else groups.set(group, new Set([key]));
      startNext();
      return place.promise;
    },
    async close(graceMs) {
      isClosed = true;
      for (const { resolve } of waiting.values()) resolve(undefined);
      waiting.clear();
      groups.clear();
      await waitAtMost(graceMs, Promise.all(running));
    },
  };
}
